// `muster sim --from-live`: repeats the decisions of a live manager from its journal, or simulates
// its past under another scheduler.

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <utility>

#include "base/terminal/progress.h"
#include "base/text/text.h"
#include "cli/live/answer_text.h"
#include "cli/sim/sim_command.h"
#include "live/config/settings.h"
#include "sim/results/result_files.h"
#include "sim/results/run_tables.h"
#include "sim/results/summary_json.h"
#include "study/page/page_json.h"
#include "study/page/page_text.h"
#include "study/past/what_if.h"
#include "study/past/what_if_page.h"
#include "workload/history/notes.h"

namespace muster {

namespace {

constexpr const char* kHappened = "as-it-happened";  // Sorts before the names of the other runs.

// The runs of one workload. With --out, writes each run to its own subdirectory.
class LiveRuns {
 public:
  LiveRuns(const SimRequest& request, const Workload& workload, std::string out,
           std::string command)
      : request_(request),
        workload_(workload),
        out_(std::move(out)),
        command_(std::move(command)) {}

  WhatIfRun keep(const std::string& name, const SimResult& result, const Topology& topology,
                 RunLabel label, const std::string& dir) {
    const Summary summary = summarize(result, topology);
    if (!out_.empty() && !failed_) {
      label.command = command_;
      failed_ = write_run(out_ + "/" + dir, result, summary, label, workload_.trace, topology);
    }
    return {name, summary, &result};
  }

  WhatIfRun simulate(const std::string& name, const SimPlan& plan, SimOptions& options,
                     const std::string& dir) {
    options.history = true;
    ProgressBar bar(name);
    options.progress = [&bar](std::size_t done, std::size_t total) {
      bar.update(done, total);
      return !interrupted();
    };
    results_.push_back(std::make_unique<SimResult>(
        muster::simulate(plan.trace, plan.topology, plan.profiles, options)));
    bar.finish();
    leave_unfinished(workload_, *results_.back());
    RunLabel label = request_.label(plan, options);
    label.cluster = cluster_words(plan.topology);
    return keep(name, *results_.back(), plan.topology, std::move(label), dir);
  }

  const MaybeError& failed() const { return failed_; }  // The first error when writing a run.

 private:
  const SimRequest& request_;
  const Workload& workload_;
  std::string out_, command_;
  std::vector<std::unique_ptr<SimResult>> results_;
  MaybeError failed_;
};

}  // namespace

int SimCommand::run_live(Streams streams, const std::string& command) {
  Result<LivePast> past = request_.read_live(streams.err);
  if (!past.ok()) return complain(streams, past.error());
  if (request_.asked_otherwise().empty()) return reproduce(past.value(), streams, command);
  keep_known_tenants(past.value().history);
  return what_if(past.value(), streams, command);
}

int SimCommand::reproduce(const LivePast& past, Streams streams, const std::string& command) const {
  const Era& era = past.era;
  if (era.differs) return complain(streams, *era.differs);
  Workload workload = as_workload(past.history);
  add_counts(era, workload.happened);
  const Topology& topology = past.history.settings.topology;
  const Summary summary = summarize(workload.happened, topology);
  RunLabel label = label_of(past.history);
  for (const std::string& note : workload.trace.notes) streams.err << "note: " << note << '\n';
  if (!out_.empty()) {
    label.command = command;
    const MaybeError refusal =
        write_run(out_, workload.happened, summary, label, workload.trace, topology);
    if (refusal) {
      return complain(streams, *refusal);
    }
    streams.err << "note: written to " << out_ << '\n';
  }
  const double since = static_cast<double>(past.history.unix_us(era.begin)) / 1e6;
  if (json_) {
    const nlohmann::ordered_json out = {
        {"equal", true},
        {"entries", era.entries},
        {"decisions", era.decisions},
        {"leases", era.leases},
        {"digest", era.digest},
        {"since", since},
        {"happened", nlohmann::ordered_json::parse(summary_json(summary, label))}};
    streams.out << out.dump(2) << '\n';
    return kExitDone;
  }
  streams.out << fmt::format(
      "{} decisions, {} leases, digest {}: equal to what happened\n"
      "repeated from the journal's {} entries since {}; the summary below also includes\n"
      "earlier jobs, which are only in the tables\n\n",
      era.decisions, era.leases, era.digest, era.entries, local_time(since));
  streams.out << summary_text(summary, label);
  return kExitDone;
}

int SimCommand::what_if(const LivePast& past, Streams streams, const std::string& command) {
  Result<LivePlan> prepared = request_.prepare_live(past.history, streams.err);
  if (!prepared.ok()) return complain(streams, prepared.error());
  LivePlan& plan = prepared.value();
  add_what_if_notes(past.era, plan.same->runs.front().overheads, plan.workload.trace.notes);
  add_counts(past.era, plan.workload.happened);
  catch_interrupts();
  LiveRuns runs(request_, plan.workload, out_, command);
  const WhatIfRun happened = runs.keep("as it happened", plan.workload.happened,
                                       plan.same->topology, label_of(past.history), kHappened);
  SimOptions& own = plan.same->runs.front();
  const WhatIfRun same =
      runs.simulate("its own scheduler", *plan.same, own, "same-" + request_.name(own));
  std::vector<WhatIfRun> others;
  std::set<std::string> names;
  for (SimOptions& options : plan.other->runs) {
    if (interrupted()) break;
    const std::string full = request_.name(options);
    std::string brief = short_name(options, own.parts);
    if (brief.empty()) brief = request_.asked_otherwise();
    others.push_back(
        runs.simulate(names.insert(brief).second ? brief : full, *plan.other, options, full));
  }
  if (interrupted()) return kExitInterrupted;
  if (runs.failed()) return complain(streams, *runs.failed());
  Page page = what_if_page(plan.workload, happened, same, others);
  page.commands.push_back(command);
  streams.out << (json_ ? page_json(page) : page_text(page, terminal_width(1), color_mode_for(1)));
  if (!out_.empty()) streams.err << "note: written to " << out_ << '\n';
  return kExitDone;
}

}  // namespace muster
