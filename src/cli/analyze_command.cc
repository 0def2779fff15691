#include "cli/analyze_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <ostream>
#include <system_error>

#include "analyze/study.h"
#include "base/text.h"
#include "cli/page_files.h"
#include "config/tenants_file.h"
#include "history/outcomes.h"
#include "history/philly_log.h"
#include "history/philly_machines.h"
#include "history/philly_use.h"
#include "history/run_history.h"
#include "history/trace_history.h"
#include "page/json.h"
#include "page/text.h"
#include "report/progress.h"
#include "report/terminal.h"

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

// One of Philly's files of use, with a bar: they have gigabytes.
Refusal add_file(const std::string& path, const std::function<Refusal(ByteSource)>& add) {
  Result<ByteSource> source = ByteSource::open(path);
  if (!source.ok()) return source.error();
  ProgressBar bar("reading " + fs::path(path).filename().string());
  source.value().watch([&](std::size_t done, std::size_t all) { bar.update(done, all); });
  return add(std::move(source).value());
}

}  // namespace

void AnalyzeCommand::add_to(CLI::App& app) {
  command_ = app.add_subcommand("analyze", "the study made of Philly, of any cluster's past");
  command_
      ->add_option("INPUT", input_,
                   "a trace, Philly's cluster_job_log, a directory with Philly's files, or one "
                   "that muster sim --out wrote")
      ->required();
  trace_options_.add_to(*command_);
  command_->add_option("--outcomes", outcomes_,
                       "of a trace: what became of its jobs (CSV, as trace generate writes it)");
  command_->add_option("--machines", machines_, "of a log: Philly's cluster_machine_list");
  command_->add_option("--gpu-use", gpu_use_,
                       "of a log: Philly's cluster_gpu_util; may be several");
  command_->add_option("--cpu-use", cpu_use_, "and cluster_cpu_util");
  command_->add_option("--mem-use", mem_use_, "and cluster_mem_util");
  command_->add_option("--tenants", tenants_,
                       "quotas: file, or a=64,b=32 (default: inferred from what each held)");
  command_->add_option("--profiles", profiles_, "models' losses (default: the built-in zoo)");
  command_->add_option("--out", out_, "write index.html and a CSV for every table and plot");
  command_->add_flag("--json", json_, "print numbers for programs");
  command_->footer(
      "Example: how long do whose jobs wait, and for whom?\n"
      "  muster analyze jobs.csv --out study\n"
      "Example: the same of a simulated past:\n"
      "  muster sim --trace jobs.csv --scheduler philly --out run && muster analyze run --out "
      "study");
}

Refusal AnalyzeCommand::refuse_empty() const {
  for (const char* option : {"--format", "--throughputs", "--outcomes", "--machines", "--tenants",
                             "--profiles", "--out"}) {
    const CLI::Option* given = command_->get_option(option);
    if (given->count() > 0 && given->as<std::string>().empty()) {
      return Error{std::string(option) + ": empty"};
    }
  }
  return std::nullopt;
}

void AnalyzeCommand::find_philly_files() {
  const fs::path dir(input_);
  const auto find = [&](const char* name, auto set) {
    if (is_file(dir / name)) set((dir / name).string());
  };
  const auto append_to = [](std::vector<std::string>& list) {
    return [&list](const std::string& path) {
      if (list.empty()) list.push_back(path);
    };
  };
  find("cluster_machine_list", [this](const std::string& path) {
    if (machines_.empty()) machines_ = path;
  });
  find("cluster_gpu_util", append_to(gpu_use_));
  find("cluster_cpu_util", append_to(cpu_use_));
  find("cluster_mem_util", append_to(mem_use_));
  input_ = (dir / "cluster_job_log").string();
}

Result<History> AnalyzeCommand::read_input(const ProfileTable& profiles) {
  const bool directory = is_directory(input_);
  if (directory && is_file(fs::path(input_) / "cluster_job_log")) {
    find_philly_files();
  } else if (directory) {
    if (!outcomes_.empty()) return Error{"--outcomes: of a trace only"};
    return from_run(input_);
  }
  if (!outcomes_.empty() || !looks_like_log(input_)) {
    const Result<Trace> trace = load_trace(input_, trace_options_, profiles);
    if (!trace.ok()) return trace.error();
    History history = from_trace(trace.value());
    if (outcomes_.empty()) return history;
    if (const Refusal refusal = add_outcomes(outcomes_, history)) return *refusal;
    return history;
  }
  Result<History> history = read_philly_log(input_);
  if (!history.ok() || machines_.empty()) return history;
  if (const Refusal refusal = add_philly_machines(machines_, history.value())) return *refusal;
  return history;
}

Refusal AnalyzeCommand::add_use(History& history, UseStudy& study) const {
  if (!gpu_use_.empty() && !(history.knows.hosts && history.knows.dates)) {
    return Error{"--gpu-use: of Philly's cluster_job_log only"};
  }
  for (const std::string& path : gpu_use_) {
    const auto add = [&](ByteSource source) {
      return add_gpu_use(std::move(source), history, study);
    };
    if (Refusal refusal = add_file(path, add)) return refusal;
  }
  for (const std::string& path : cpu_use_) {
    const auto add = [&](ByteSource source) { return add_cpu_use(std::move(source), study); };
    if (Refusal refusal = add_file(path, add)) return refusal;
  }
  for (const std::string& path : mem_use_) {
    const auto add = [&](ByteSource source) { return add_mem_use(std::move(source), study); };
    if (Refusal refusal = add_file(path, add)) return refusal;
  }
  history.notes.insert(history.notes.end(), study.notes.begin(), study.notes.end());
  return std::nullopt;
}

int AnalyzeCommand::run(Streams streams, const std::string& command) {
  if (const Refusal refusal = refuse_empty()) return complain(streams, refusal->message);
  const Result<ProfileTable> profiles = load_profiles(profiles_, streams.err);
  if (!profiles.ok()) return complain(streams, profiles.error().message);
  std::optional<TenantTree> tenants;
  if (!tenants_.empty()) {
    Result<TenantTree> read = read_tenants(tenants_);
    if (!read.ok()) return complain(streams, read.error().message);
    tenants = std::move(read).value();
  }
  Result<History> history = read_input(profiles.value());
  if (!history.ok()) return complain(streams, history.error().message);
  UseStudy use;
  if (const Refusal refusal = add_use(history.value(), use)) {
    return complain(streams, refusal->message);
  }
  const bool used = !gpu_use_.empty() || !cpu_use_.empty() || !mem_use_.empty();
  StudyOptions options;
  options.profiles = &profiles.value();
  if (tenants) options.tenants = &*tenants;
  Page page = study(history.value(), used ? &use : nullptr, options);
  page.commands.push_back(command);
  if (!out_.empty()) {
    if (const Refusal refusal = write_page(out_, page)) {
      complain(streams, refusal->message);
      return kExitFailed;
    }
  }
  if (json_) {
    streams.out << page_json(page);
  } else if (out_.empty()) {
    streams.out << page_text(page, terminal_width(1), ink_for(1));
  }
  if (!out_.empty()) streams.err << "note: written to " << out_ << "/index.html\n";
  return kExitDone;
}

}  // namespace muster
