#include "cli/sim/sim_command.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <ostream>

#include "base/terminal/progress.h"
#include "base/text/text.h"
#include "sim/results/result_files.h"
#include "sim/results/run_tables.h"
#include "sim/results/summary_json.h"

namespace muster {

namespace {

constexpr std::size_t kRejectionsShown = 5;

Duration since(std::chrono::steady_clock::time_point begin) {
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  return Duration::micros(std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count());
}

// Prints each rejected job once, even if several runs reject it.
void name_rejected(const SimResult& result, const Trace& trace, std::vector<bool>& named,
                   std::ostream& err) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    if (result.jobs[i].fate != JobResult::kRejected || named[i]) continue;
    named[i] = true;
    if (count++ < kRejectionsShown) {
      err << fmt::format("note: job {} can never run: {}\n", in_quotes(trace.jobs[i].id),
                         result.jobs[i].why_rejected);
    }
  }
  if (count > kRejectionsShown) {
    err << fmt::format("note: and {} more jobs that can never run\n", count - kRejectionsShown);
  }
}

}  // namespace

void SimCommand::add_to(Command app) {
  command_ = app.add_subcommand("sim", "simulate a workload under one or more schedulers");
  request_.add_options(command_);
  command_.add_option("--out", out_,
                      "directory for jobs, leases, timeline and summary; muster report reads it");
  command_.add_flag("--json", json_, "print the summary as JSON");
  command_.footer(
      "Example: two policies, with and without tuning CPU and memory, on 128 GPUs:\n"
      "  muster sim --cluster 16x8 --policy fifo,srtf --mechanism proportional,tune --round 300s\n"
      "Example: repeat the decisions of a live manager, then compare them with tiresias:\n"
      "  muster sim --from-live ~/.local/state/muster\n"
      "  muster sim --from-live ~/.local/state/muster --since 7d --scheduler tiresias");
}

void SimCommand::print(const SimPlan& plan, const std::vector<RunRow>& rows,
                       std::ostream& out) const {
  if (json_) {
    out << (plan.runs.size() == 1 ? summary_json(rows[0].summary, rows[0].label)
                                  : summaries_json(rows));
  } else if (plan.runs.size() == 1) {
    out << summary_text(rows[0].summary, rows[0].label);
    if (plan.runs[0].failures.any()) {
      out << '\n' << failure_table(rows[0].summary.failures, color_mode_for(1));
    }
    if (plan.tenants) out << '\n' << waiting_table(rows[0].summary.waiting, color_mode_for(1));
  } else {
    out << comparison_table(rows, color_mode_for(1))
        << (request_.compares_schedulers() || compares_policies(rows)
                ? "gain: mean JCT of the first row divided by that of this row\n"
                : "gain: mean JCT of the policy's first row divided by that of this row\n");
  }
}

int SimCommand::run(Streams streams, const std::string& command) {
  if (command_.count("--out") > 0 && out_.empty()) {
    return complain(streams, "--out: must not be empty");
  }
  if (std::error_code ignored; !out_.empty() && std::filesystem::exists(out_, ignored) &&
                               !std::filesystem::is_directory(out_, ignored)) {
    return complain(streams, "--out " + in_quotes(out_) + ": not a directory");
  }
  if (request_.from_live()) return run_live(streams, command);
  const Result<std::unique_ptr<SimPlan>> prepared = request_.prepare(streams.err);
  if (!prepared.ok()) return complain(streams, prepared.error());
  SimPlan* const plan = prepared.value().get();
  for (SimOptions& options : plan->runs) options.history = !out_.empty();

  catch_interrupts();
  std::vector<RunRow> rows;
  std::vector<bool> named(plan->trace.jobs.size());
  for (SimOptions& options : plan->runs) {
    const std::string name = request_.name(options);
    ProgressBar bar(name);
    options.progress = [&bar](std::size_t done, std::size_t total) {
      bar.update(done, total);
      return !interrupted();
    };
    const auto begin = std::chrono::steady_clock::now();
    const SimResult result = simulate(plan->trace, plan->topology, plan->profiles, options);
    bar.finish();
    Summary summary = summarize(result, plan->topology, plan->window);
    summary.wall = since(begin);
    RunLabel label = request_.label(*plan, options);
    if (!out_.empty()) label.command = command;
    name_rejected(result, plan->trace, named, streams.err);
    if (!out_.empty()) {
      const std::string dir = plan->runs.size() == 1 ? out_ : out_ + "/" + name;
      const MaybeError refusal =
          write_run(dir, result, summary, label, plan->trace, plan->topology);
      if (refusal) {
        return complain(streams, *refusal);
      }
    }
    rows.push_back({label, summary});
    if (result.partial) break;
  }
  print(*plan, rows, streams.out);
  if (!out_.empty()) streams.err << "note: written to " << out_ << '\n';
  return interrupted() ? kExitInterrupted : kExitDone;
}

}  // namespace muster
