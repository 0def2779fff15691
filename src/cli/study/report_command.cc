#include "cli/study/report_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "base/terminal/progress.h"
#include "base/text/text.h"
#include "cli/common/page_files.h"
#include "study/compare/loaded_runs.h"
#include "study/compare/sweep_page.h"

namespace muster {

void ReportCommand::add_to(Command app) {
  command_ = app.add_subcommand("report", "write an HTML page that compares runs or shows a sweep");
  command_.add_option("DIR", dirs_, "directories written by muster sim --out or muster sweep")
      .required();
  command_.add_option("--baseline", baseline_,
                      "run that the others are compared with (default: the first)");
  command_.add_option("--window", window_,
                      "time range FROM-TO of the run to show GPUs in detail: 24h-48h");
  command_.add_option("--out", out_, "file to write").capture_default_str();
  command_.footer(
      "Example:\n"
      "  muster sim --policy fifo,srtf --round 300s --out runs && muster report runs");
}

Result<std::size_t> ReportCommand::find_baseline(const std::vector<std::string>& names) const {
  if (baseline_.empty()) return std::size_t{0};
  const auto at = std::find(names.begin(), names.end(), baseline_);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  const std::vector<std::string_view> known(names.begin(), names.end());
  return Error{"--baseline: unknown run " + in_quotes(baseline_) + suggestion(baseline_, known)};
}

MaybeError ReportCommand::read_window(RunPageOptions& options) const {
  if (window_.empty()) return std::nullopt;
  const auto fail = [&](const std::string& why) {
    return Error{"--window " + in_quotes(window_) + ": " + why};
  };
  const std::vector<std::string_view> ends = split(window_, '-');
  if (ends.size() != 2) return fail("write FROM-TO, such as 24h-48h");
  const Result<Duration> from = parse_duration(ends[0]);
  const Result<Duration> to = parse_duration(ends[1]);
  if (!from.ok()) return fail(from.error().message);
  if (!to.ok()) return fail(to.error().message);
  if (from.value() >= to.value()) return fail("FROM must be before TO");
  options.window = Stretch{Instant::at(from.value()), Instant::at(to.value())};
  return std::nullopt;
}

Result<Page> ReportCommand::of_sweep() const {
  if (!window_.empty()) return Error{"--window: cannot be used with a sweep, only with runs"};
  const Result<SweepFiles> sweep = read_sweep_files(dirs_.front());
  if (!sweep.ok()) return sweep.error();
  const Result<std::size_t> baseline = find_baseline(group_names(sweep.value()));
  if (!baseline.ok()) return baseline.error();
  return sweep_page(sweep.value(), baseline.value());
}

Result<Page> ReportCommand::of_runs() const {
  RunPageOptions options;
  if (const MaybeError refusal = read_window(options)) return *refusal;
  const Result<std::vector<std::string>> found = find_runs(dirs_);
  if (!found.ok()) return found.error();
  ProgressBar bar("reading runs");
  std::vector<RunFiles> runs;
  std::set<std::string> names;
  for (const std::string& dir : found.value()) {
    bar.update(runs.size(), found.value().size());
    Result<RunFiles> run = read_run_files(dir);
    if (!run.ok()) return run.error();
    names.insert(run.value().name);
    runs.push_back(std::move(run).value());
  }
  if (names.size() < runs.size()) {  // The last part of the path is not unique.
    for (std::size_t i = 0; i < runs.size(); ++i) runs[i].name = found.value()[i];
  }
  bar.finish();
  std::vector<std::string> known;
  for (const RunFiles& run : runs) known.push_back(run.name);
  const Result<std::size_t> baseline = find_baseline(known);
  if (!baseline.ok()) return baseline.error();
  options.baseline = baseline.value();
  return run_page(runs, options);
}

Result<Page> ReportCommand::make_page() const {
  const bool sweep = std::any_of(dirs_.begin(), dirs_.end(), holds_sweep);
  if (sweep && dirs_.size() > 1) return Error{"DIR: a sweep must be the only directory"};
  return sweep ? of_sweep() : of_runs();
}

int ReportCommand::run(Streams streams) {
  if (out_.empty()) return complain(streams, "--out: must not be empty");
  const Result<Page> page = make_page();
  if (!page.ok()) return complain(streams, page.error());
  if (const MaybeError refusal = write_html(out_, page.value())) {
    return complain(streams, *refusal);
  }
  streams.err << "note: written to " << out_ << '\n';
  return kExitDone;
}

}  // namespace muster
