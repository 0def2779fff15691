#include "cli/study/analyze_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <system_error>

#include "base/terminal/progress.h"
#include "base/terminal/terminal.h"
#include "base/text/text.h"
#include "cli/common/page_files.h"
#include "study/analyze/study.h"
#include "study/analyze/use_model.h"
#include "study/page/page_json.h"
#include "study/page/page_text.h"
#include "study/past/era.h"
#include "study/past/study_history.h"
#include "workload/history/outcomes.h"
#include "workload/history/run_history.h"
#include "workload/history/trace_history.h"
#include "workload/input/tenants_file.h"
#include "workload/philly/philly_log.h"
#include "workload/philly/philly_machines.h"
#include "workload/philly/philly_use.h"

namespace muster {

namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Reads Philly's utilization files with a progress bar each, because they contain gigabytes.
MaybeError add_files(const std::vector<std::string>& paths,
                     const std::function<MaybeError(std::vector<ByteSource>)>& add) {
  std::vector<ByteSource> sources;
  std::vector<std::unique_ptr<ProgressBar>> bars;
  for (const std::string& path : paths) {
    Result<ByteSource> source = ByteSource::open(path);
    if (!source.ok()) return source.error();
    bars.push_back(std::make_unique<ProgressBar>("reading " + fs::path(path).filename().string()));
    source.value().watch(
        [bar = bars.back().get()](std::size_t done, std::size_t all) { bar->update(done, all); });
    sources.push_back(std::move(source).value());
  }
  return sources.empty() ? std::nullopt : add(std::move(sources));
}

}  // namespace

void AnalyzeCommand::add_to(Command app) {
  command_ = app.add_subcommand("analyze", "repeat the Philly study for the past of any cluster");
  command_
      .add_option(
          "INPUT", input_,
          "a trace; Philly's cluster_job_log or a directory with Philly's files; a directory "
          "of muster sim --out; or a live manager's state directory, socket or journal.db")
      .required();
  trace_options_.add_to(command_);
  command_.add_option("--outcomes", outcomes_,
                      "traces only: CSV of the jobs' outcomes, as trace generate writes it");
  command_.add_option("--machines", machines_, "logs only: Philly's cluster_machine_list");
  command_.add_option("--gpu-use", gpu_use_,
                      "logs only: Philly's cluster_gpu_util, one or more files");
  command_.add_option("--cpu-use", cpu_use_,
                      "logs only: Philly's cluster_cpu_util, one or more files");
  command_.add_option("--mem-use", mem_use_,
                      "logs only: Philly's cluster_mem_util, one or more files");
  command_.add_option(
      "--tenants", tenants_,
      "tenant quotas: file, or a=64,b=32 (default: inferred from the GPUs that each "
      "tenant used)");
  command_.add_option(
      "--profiles", profiles_,
      "file of model profiles, for their recorded losses and GPU utilization (default: "
      "the built-in profiles)");
  command_.add_option("--out", out_, "directory for index.html and a CSV per table and plot");
  command_.add_flag("--json", json_, "print the study as JSON");
  command_.footer(
      "Example: which jobs wait, how long, and for which jobs?\n"
      "  muster analyze jobs.csv --out study\n"
      "Example: the same study of a simulation:\n"
      "  muster sim --trace jobs.csv --scheduler philly --out run && muster analyze run --out "
      "study\n"
      "Example: the same study of a live manager's past:\n"
      "  muster analyze ~/.local/state/muster --out study");
}

MaybeError AnalyzeCommand::refuse_empty() const {
  if (input_.empty()) return Error{"INPUT: must not be empty"};
  return command_.refuse_empty({"--format", "--throughputs", "--outcomes", "--machines",
                                "--gpu-use", "--cpu-use", "--mem-use", "--tenants", "--profiles",
                                "--out"});
}

MaybeError AnalyzeCommand::refuse_log_options() const {
  for (const char* option : {"--machines", "--gpu-use", "--cpu-use", "--mem-use"}) {
    if (command_.count(option) > 0) {
      return Error{std::string(option) + ": requires Philly's cluster_job_log as input"};
    }
  }
  return std::nullopt;
}

// Files that were not given are read from the log's directory, if the input is a directory.
Result<History> AnalyzeCommand::read_log(const fs::path& log, UseStudy& study) const {
  const auto beside = [&](const char* name, std::vector<std::string> named) {
    if (named.empty() && is_directory(input_) && is_file(log.parent_path() / name)) {
      named.push_back((log.parent_path() / name).string());
    }
    return named;
  };
  Result<History> history = read_philly_log(log.string());
  if (!history.ok()) return history;
  for (const std::string& path : beside("cluster_machine_list", machines_)) {
    if (const MaybeError refusal = add_philly_machines(path, history.value())) return *refusal;
  }
  const std::vector<std::string> gpu_use = beside("cluster_gpu_util", gpu_use_);
  const auto add_gpu = [&](std::vector<ByteSource> sources) {
    return add_gpu_use(std::move(sources), history.value(), study);
  };
  if (const MaybeError refusal = add_files(gpu_use, add_gpu)) return *refusal;
  for (const std::string& path : beside("cluster_cpu_util", cpu_use_)) {
    const auto add = [&](std::vector<ByteSource> one) {
      return add_cpu_use(std::move(one.front()), study);
    };
    if (const MaybeError refusal = add_files({path}, add)) return *refusal;
  }
  for (const std::string& path : beside("cluster_mem_util", mem_use_)) {
    const auto add = [&](std::vector<ByteSource> one) {
      return add_mem_use(std::move(one.front()), study);
    };
    if (const MaybeError refusal = add_files({path}, add)) return *refusal;
  }
  return history;
}

Result<History> AnalyzeCommand::read_live(std::optional<TenantTree>& tenants) const {
  for (const char* option : {"--outcomes", "--format", "--throughputs"}) {
    if (command_.count(option) > 0) {
      return Error{std::string(option) + ": requires a trace as input"};
    }
  }
  if (const MaybeError refusal = refuse_log_options()) return *refusal;
  const Result<std::string> database = find_live_database(input_);
  if (!database.ok()) return database.error();
  const Result<LivePast> past = read_live_past(database.value());
  if (!past.ok()) return bad_input(past.error());
  const LiveHistory& live = past.value().history;
  if (live.jobs.empty()) return Error{database.value() + ": no jobs yet"};
  if (!tenants) tenants = live.settings.tenants;
  return as_history(live);
}

Result<History> AnalyzeCommand::read_input(const ProfileTable& profiles,
                                           std::optional<TenantTree>& tenants,
                                           UseStudy& study) const {
  if (names_live_database(input_)) return read_live(tenants);
  const fs::path log =
      is_directory(input_) ? fs::path(input_) / "cluster_job_log" : fs::path(input_);
  const bool in_directory = is_directory(input_) && is_file(log);
  if (in_directory || (!is_directory(input_) && is_log(input_, trace_options_))) {
    if (!outcomes_.empty()) return Error{"--outcomes: requires a trace as input"};
    return read_log(log, study);
  }
  if (const MaybeError refusal = refuse_log_options()) return *refusal;
  if (is_directory(input_)) {
    for (const char* option : {"--outcomes", "--format", "--throughputs"}) {
      if (command_.count(option) > 0) {
        return Error{std::string(option) + ": requires a trace as input"};
      }
    }
    if (is_file(fs::path(input_) / "summary.json")) {
      Result<History> history = from_run(input_);
      if (history.ok()) study = model_use(history.value(), &profiles);
      return history;
    }
    return Error{input_ +
                 ": contains no run of muster sim --out, no Philly files and no journal of a live "
                 "manager"};
  }
  const Result<Trace> trace = load_trace(input_, trace_options_, profiles);
  if (!trace.ok()) return trace.error();
  History history = from_trace(trace.value());
  if (outcomes_.empty()) return history;
  if (const MaybeError refusal = add_outcomes(outcomes_, history)) return *refusal;
  return history;
}

Result<Page> AnalyzeCommand::make_page(std::ostream& notes, const std::string& command) const {
  if (const MaybeError refusal = refuse_empty()) return *refusal;
  const Result<ProfileTable> profiles = load_profiles(profiles_, notes);
  if (!profiles.ok()) return profiles.error();
  std::optional<TenantTree> tenants;
  if (!tenants_.empty()) {
    Result<TenantTree> read = read_tenants(tenants_);
    if (!read.ok()) return read.error();
    tenants = std::move(read).value();
  }
  UseStudy use;
  const Result<History> history = read_input(profiles.value(), tenants, use);
  if (!history.ok()) return history.error();
  StudyOptions options;
  options.profiles = &profiles.value();
  if (tenants) options.tenants = &*tenants;
  Page page = study(history.value(), use.any() ? &use : nullptr, options);
  page.commands.push_back(command);
  return page;
}

int AnalyzeCommand::run(Streams streams, const std::string& command) {
  const Result<Page> made = make_page(streams.err, command);
  if (!made.ok()) return complain(streams, made.error());
  const Page& page = made.value();
  if (!out_.empty()) {
    if (const MaybeError refusal = write_page(out_, page)) {
      return complain(streams, *refusal);
    }
  }
  if (json_) {
    streams.out << page_json(page);
  } else if (out_.empty()) {
    streams.out << page_text(page, terminal_width(1), color_mode_for(1));
  }
  if (!out_.empty()) streams.err << "note: written to " << out_ << "/index.html\n";
  return kExitDone;
}

Result<Page> analysis_of(const std::string& path, std::ostream& notes) {
  const Parser parser;
  AnalyzeCommand command;
  command.add_to(parser.root());
  const Parser::Outcome outcome = parser.parse(std::vector<std::string>{"analyze", "--", path});
  MUSTER_CHECK(outcome.kind == Parser::Outcome::Kind::kRun);
  const std::vector<std::string> words = {"analyze", path};
  return command.make_page(notes, command_line(words));
}

}  // namespace muster
