#include "cli/study/reproduce_command.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <thread>

#include "base/file/atomic_file.h"
#include "base/file/text_file.h"
#include "base/terminal/progress.h"
#include "base/terminal/table.h"
#include "base/terminal/terminal.h"
#include "base/text/text.h"
#include "cli/common/page_files.h"
#include "cli/study/experiment_runner.h"
#include "study/page/page_json.h"
#include "study/page/page_markdown.h"
#include "study/page/page_text.h"
#include "study/page/plot_svg.h"

namespace muster {

namespace {

// A directory that is removed at the end, unless the user chose one.
class WorkDirectory {
 public:
  explicit WorkDirectory(const std::string& chosen) : path_(chosen), temporary_(chosen.empty()) {
    if (!temporary_) return;
    std::error_code error;
    const std::filesystem::path scratch = std::filesystem::temp_directory_path(error);
    std::string pattern = (scratch / "muster-reproduce-XXXXXX").string();
    if (!error && ::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;
  ~WorkDirectory() {
    std::error_code ignored;
    if (temporary_ && !path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }  // Empty: it could not be created.

 private:
  std::string path_;
  bool temporary_;
};

std::string data_directory(const std::string& given) {
  if (!given.empty()) return given;
  const char* const variable = ::getenv("MUSTER_DATA");
  return variable != nullptr && *variable != '\0' ? variable : ".";
}

}  // namespace

void ReproduceCommand::add_to(Command app) {
  command_ =
      app.add_subcommand("reproduce", "run the experiments of papers and compare the results");
  command_.add_option(
      "NAME", names_,
      "papers, experiments, YAML files of experiments, or all (default: list them)");
  command_.add_option("--data", data_,
                      "directory of data files such as philly_full.csv (default: $MUSTER_DATA, or "
                      "the current directory)");
  command_.add_option("--out", out_,
                      "directory for tables (CSV), plots (SVG), index.html, results.md and the "
                      "results of all commands");
  command_.add_flag("--short", short_, "run only the experiments of the short form");
  command_.add_flag("--json", json_, "print the page as JSON");
  command_.footer(
      "Verdicts: reproduced, direction only, not reproduced: WHY, not run: WHY.\n"
      "Exit status: 0 success, 1 a miss without a known reason or a failed command, 2 bad input.\n"
      "Example: all experiments that need no data files:\n"
      "  muster reproduce all --out results\n"
      "Example: convert the public Philly log, then use it:\n"
      "  muster trace convert --trace cluster_job_log --out data/philly_full.csv\n"
      "  muster reproduce tiresias --data data");
}

int ReproduceCommand::list(Streams streams) const {
  Table table({{"paper", Align::kLeft},
               {"experiment", Align::kLeft},
               {"claims", Align::kRight},
               {"needs", Align::kLeft},
               {"title", Align::kLeft}});
  for (const Experiment& experiment : builtin_experiments()) {
    std::string needs;
    for (const std::string& file : experiment.needs) needs += (needs.empty() ? "" : ", ") + file;
    table.add_row({experiment.paper, experiment.name, std::to_string(experiment.claims.size()),
                   needs, experiment.title});
  }
  streams.out << table.render(color_mode_for(1));
  return kExitDone;
}

Result<std::vector<const Experiment*>> ReproduceCommand::choose() {
  std::vector<const Experiment*> chosen;
  MaybeError conflict;
  const auto add = [&](const Experiment& experiment) {
    if (short_ && !experiment.quick) return;
    const auto other = std::ranges::find(chosen, experiment.name, &Experiment::name);
    if (other == chosen.end()) {
      chosen.push_back(&experiment);
    } else if (*other != &experiment && !conflict) {
      conflict = Error{"two chosen experiments have the name " + in_quotes(experiment.name) +
                       "; rename the one in the YAML file"};
    }
  };
  std::set<std::string_view> known = {"all"};
  for (const Experiment& experiment : builtin_experiments()) {
    known.insert(experiment.paper);
    known.insert(experiment.name);
  }
  read_.reserve(names_.size());  // `chosen` points into its elements.
  for (const std::string& name : names_) {
    if (name.ends_with(".yaml") || name.ends_with(".yml")) {
      const Result<std::string> text = read_text_file(name);
      if (!text.ok()) return bad_input(text.error());
      Result<std::vector<Experiment>> read = parse_experiments(text.value(), name);
      if (!read.ok()) return bad_input(read.error());
      read_.push_back(std::move(read).value());
      for (const Experiment& experiment : read_.back()) add(experiment);
      continue;
    }
    if (!known.contains(name)) {
      const std::vector<std::string_view> names(known.begin(), known.end());
      return Error{"unknown paper or experiment " + in_quotes(name) + suggestion(name, names)};
    }
    for (const Experiment& experiment : builtin_experiments()) {
      if (name == "all" || name == experiment.paper || name == experiment.name) add(experiment);
    }
  }
  if (conflict) return *conflict;
  if (chosen.empty()) return Error{"--short: no chosen experiment is part of the short form"};
  return chosen;
}

Result<std::vector<ExperimentResult>> ReproduceCommand::run_all(
    const std::vector<const Experiment*>& chosen, const std::string& dir) const {
  RunnerOptions options;
  options.dir = dir;
  options.data = std::filesystem::absolute(data_directory(data_)).lexically_normal().string();
  options.parallel = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::size_t total = 0;
  std::size_t done = 0;
  for (const Experiment* experiment : chosen) total += command_count(*experiment);
  ProgressBar bar("reproducing", 2, Duration::seconds(1), "commands");
  std::vector<ExperimentResult> results;
  for (const Experiment* experiment : chosen) {
    const std::size_t before = done;
    Result<ExperimentResult> result =
        run_experiment(*experiment, options, [&] { bar.update(++done, total); });
    if (!result.ok()) return result.error();
    done = before + command_count(*experiment);
    results.push_back(std::move(result).value());
  }
  return results;
}

MaybeError ReproduceCommand::write(const ResultsPage& made) const {
  std::string names;
  for (const std::string& name : names_) names += ' ' + name;
  if (MaybeError refusal = write_page(out_, made.page)) return refusal;
  if (MaybeError refusal = make_directory(out_ + "/plots")) return refusal;
  for (const Section& section : made.page.sections) {
    for (const Plot& plot : section.plots) {
      const std::string path = fmt::format("{}/plots/{}.svg", out_, plot.key);
      if (MaybeError refusal = write_atomically(path, plot_svg(plot))) return refusal;
    }
  }
  const std::string before = fmt::format(
      "This page shows published claims about schedulers for deep learning and the figures that\n"
      "Muster measures. It is generated by `muster reproduce{}`; do not edit it. A tag such as\n"
      "[recalled] marks a published figure that was not checked against the publication. In the\n"
      "commands, `$DIR` is a working directory and `$DATA` the directory of data files.\n",
      names);
  return write_atomically(out_ + "/results.md", page_markdown(made.page, "plots", before));
}

int ReproduceCommand::run(Streams streams) {
  if (names_.empty()) return list(streams);
  const Result<std::vector<const Experiment*>> chosen = choose();
  if (!chosen.ok()) return complain(streams, chosen.error());
  if (!out_.empty()) {
    if (const MaybeError refusal = make_directory(out_)) return complain(streams, *refusal);
  }
  catch_interrupts();
  const WorkDirectory work(out_);
  if (work.path().empty()) {
    return complain(streams, Error{"cannot create a temporary directory", ErrorCode::kSystem});
  }
  const Result<std::vector<ExperimentResult>> results = run_all(chosen.value(), work.path());
  if (!results.ok()) return complain(streams, results.error());
  const ResultsPage made = results_page(results.value());
  if (!out_.empty()) {
    if (const MaybeError refusal = write(made)) return complain(streams, *refusal);
    streams.err << "note: written to " << out_ << "; open " << out_ << "/index.html\n";
  }
  streams.out << (json_ ? page_json(made.page) + "\n"
                        : page_text(made.page, terminal_width(1), color_mode_for(1)));
  return made.counts.unexplained == 0 ? kExitDone : kExitFailed;
}

}  // namespace muster
