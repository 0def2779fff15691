#include "live/views/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "engine/core/free_gpus.h"
#include "engine/failure/reasons.h"
#include "engine/roster/placement_text.h"
#include "live/lease/report_watch.h"
#include "live/views/view_units.h"

namespace muster {

namespace {

using nlohmann::json;

// Maximum length of a job's final message in a row.
constexpr std::size_t kMaxRowWordBytes = 2'000;

json progress_json(const Progress& progress) {
  json out = {{"at", static_cast<double>(progress.at_unix_ms) / 1000}};
  if (progress.step) out["step"] = *progress.step;
  if (progress.epoch) out["epoch"] = *progress.epoch;
  if (progress.loss) out["loss"] = *progress.loss;
  if (progress.rate) out["rate"] = *progress.rate;
  if (progress.total) out["total"] = *progress.total;
  if (progress.dropped_lines > 0) out["dropped_lines"] = progress.dropped_lines;
  if (progress.skipped_bytes > 0) out["skipped_bytes"] = progress.skipped_bytes;
  if (progress.cache) {
    out["cache"] = {{"hits", progress.cache->hits},
                    {"misses", progress.cache->misses},
                    {"held_bytes", progress.cache->held_bytes},
                    {"budget_bytes", progress.cache->budget_bytes},
                    {"dataset_bytes", progress.cache->dataset_bytes},
                    {"read_bytes", progress.cache->read_bytes}};
  }
  return out;
}

// Replaces invalid UTF-8, because the texts may contain any byte.
std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// In these states `why` describes the last failed attempt.
bool tells_failure(LiveState state) {
  return state == LiveState::kRetrying || state == LiveState::kFailed;
}

// Returns the fields of a row that have no column.
json details_of(const Roster& roster, const LiveJob& job, const Progress* progress) {
  json details = {{"request", json::parse(request_json(job.request), nullptr, false)},
                  {"ran_s", ran_by(job, roster.now()).in_seconds()}};
  if (job.uid != kNoUid) details["uid"] = job.uid;
  if (job.array != 0) {
    details["array"] = job.array;
    details["index"] = job.index;
  }
  if (progress != nullptr) details["progress"] = progress_json(*progress);
  if (job.end == LiveState::kFailed) put_proof(details, job.proof);
  return details;
}

// "waits for job 12 (running) to end"
std::string what_it_waits_for(const Roster& roster, const LiveJob& job) {
  std::vector<std::string> names;
  for (const auto* list : {&job.request.after_ok, &job.request.after_any}) {
    for (const LiveId id : *list) {
      const LiveJob* other = roster.find(id);
      if (other == nullptr || other->end) continue;
      names.push_back(fmt::format("{} ({})", id, state_name(roster.state_of(*other))));
    }
  }
  return fmt::format("waits for job{} {} to end", names.size() == 1 ? "" : "s", first_few(names));
}

// "4 GPUs requested, 1 free; n3 is drained". Counts only GPUs of the requested type on schedulable
// nodes.
std::string which_gpus(const Roster& roster, const LiveJob& job) {
  const State& state = roster.engine().state();
  const Topology& topology = roster.settings().topology;
  const int wants = job.request.gpus;
  const int first = job.wants_trial() ? 1 : wants;  // GPUs that it waits for now.
  int nodes = 0;
  int others = 0;
  std::vector<std::string> closed;
  std::map<std::string, int> reasons;  // Reasons of unusable nodes.
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    const NodeId id(i);
    const Node& node = topology.node(id);
    const std::string& type = job.request.gpu_type;
    if (!type.empty() && topology.gpu_type_name(node.gpu_type) != type) continue;
    ++nodes;
    const auto condition = roster.conditions().find(id);
    const bool known = condition != roster.conditions().end();
    if (known) others += condition->second.taken.gpus;
    if (state.closed[id] == 0) continue;
    if (known && !condition->second.usable) {
      ++reasons[condition->second.why];
      closed.push_back(fmt::format("{} is unusable: {}", node.name, condition->second.why));
    } else {
      closed.push_back(fmt::format("{} is {}", node.name,
                                   roster.quarantines().contains(id) ? "quarantined" : "drained"));
    }
  }
  if (reasons.size() == 1 && reasons.begin()->second == nodes) {
    return "no node is usable: " + reasons.begin()->first;
  }
  std::optional<GpuTypeId> type = roster.find_gpu_type(job.request.gpu_type);
  // No node has the requested type now. Use an id without nodes.
  if (!type && !job.request.gpu_type.empty()) type = GpuTypeId(topology.gpu_type_count());
  FreeGpus gpus = count_free_gpus(roster.engine(), type);
  if (job.row) gpus = gpus.seen_by(*job.row);
  std::string text = fmt::format(
      "{} {}{} requested{}, {} free", wants,
      job.request.gpu_type.empty() ? "GPU" : job.request.gpu_type + " GPU", wants == 1 ? "" : "s",
      first < wants ? ", first 1 for its pre-run" : "", gpus.free);
  if (gpus.kept > 0) {
    text += fmt::format(", {} reserved for job {}", gpus.kept, roster.live_of(gpus.kept_for));
  }
  if (gpus.free >= first)
    text += ", but not available to it yet: see muster why " + std::to_string(job.id);
  if (others > 0) text += fmt::format(", {} used by external jobs", others);
  return closed.empty() ? text : text + "; " + first_few(closed);
}

// Lists the nodes where it failed and must not run again.
std::string where_not(const Roster& roster, const LiveJob& job) {
  const auto found = roster.engine().state().avoided.find(*job.row);
  if (found == roster.engine().state().avoided.end()) return "";
  std::vector<std::string> names;
  for (const NodeId node : found->second.nodes) {
    names.push_back(roster.settings().topology.node(node).name);
  }
  return fmt::format("; not on {}, where it failed", first_few(names));
}

}  // namespace

void put_proof(json& out, const FailureEvidence& proof) {
  if (!proof.signature.empty()) out["signature"] = proof.signature;
  if (!proof.evidence.empty()) out["evidence"] = proof.evidence.substr(0, kMaxRowWordBytes);
  if (proof.line > 0) out["line"] = proof.line;
  if (!proof.advice.empty()) out["advice"] = proof.advice.substr(0, kMaxRowWordBytes);
}

std::string why_waiting(const Roster& roster, const LiveJob& job) {
  switch (roster.state_of(job)) {
    case LiveState::kHeld:
      if (!job.held_why.empty()) {
        return fmt::format("held: {}; to resume: muster release {}", job.held_why, job.id);
      }
      return fmt::format("is held; to resume: muster release {}", job.id);
    case LiveState::kBlocked:
      if (job.waits_for > 0) return what_it_waits_for(roster, job);
      return fmt::format("waits: its array runs at most {} at a time", job.at_once);
    case LiveState::kRetrying:
      return job.why;
    case LiveState::kQueued:
      return which_gpus(roster, job) + where_not(roster, job);
    case LiveState::kStarting:
      return job.lease->says.empty() ? "starting its processes" : job.lease->says;
    case LiveState::kStopping:
      return job.cancelled ? "being cancelled" : job.held ? "being held" : "releasing its GPUs";
    default:
      return job.why;
  }
}

JobRow row_of(const Roster& roster, const LiveJob& job, const Progress* progress) {
  JobRow row;
  row.id = job.id;
  if (job.array != 0) row.key = fmt::format("{}_{}", job.array, job.index);
  row.tenant = job.tenant;
  row.user = job.user;
  row.name = job.request.name;
  row.state = state_name(roster.state_of(job));
  row.spec = dumped(details_of(roster, job, progress));
  row.submitted = job.submitted;
  row.started = job.started;
  row.ended = job.ended;
  row.attempts = job.leases_used;
  row.exit = job.end ? job.why.substr(0, kMaxRowWordBytes) : "";
  return row;
}

AttemptRow row_of(const Roster& roster, const LiveJob& job, const LiveLease& lease) {
  AttemptRow row;
  row.job = job.id;
  row.number = lease.number;
  row.state = lease.up ? "running" : "starting";
  row.nodes = roster.where(lease.placement).substr(0, kMaxPlacedText);
  if (lease.up) row.started = lease.up_since;
  const Resources total = total_of(lease.placement);
  row.exit = dumped({{"isolation", lease.isolation},
                     {"trial", lease.trial},
                     {"cpus", cpus(total.cpu_milli)},
                     {"mem_gib", gib(total.mem_mib)}});
  return row;
}

AttemptRow row_of(const Roster& roster, const LeaseRecord& record) {
  LiveJob job;
  job.id = record.id;
  AttemptRow row = row_of(roster, job, record.lease);
  row.state = fate_name(record.end.fate);
  row.ended = roster.now();
  json facts = json::parse(row.exit);
  const LeaseOverInput& end = record.end;
  facts["words"] = end.words.substr(0, kMaxRowWordBytes);
  if (!end.reason.empty()) facts["reason"] = end.reason;
  put_proof(facts, end.proof);
  facts["cpu_s"] = static_cast<double>(end.cpu_ms) / 1000;
  facts["mem_peak_gib"] = gib(end.mem_peak_mib);
  row.exit = dumped(facts);
  return row;
}

json view_of(const Roster& roster, const LiveJob& job, const Progress* progress,
             const LiveClock& clock) {
  json view = {{"id", job.id},
               {"name", job.request.name},
               {"user", job.user},
               {"tenant", job.tenant},
               {"state", state_name(roster.state_of(job))},
               {"gpus", job.request.gpus},
               {"gpus_held", job.lease ? total_of(job.lease->placement).gpus : 0},
               {"priority", job.request.priority},
               {"submitted", unix_s(clock, job.submitted)},
               {"ran_s", ran_by(job, clock.now()).in_seconds()},
               {"leases_used", job.leases_used}};
  if (job.started) view["started"] = unix_s(clock, *job.started);
  if (job.ended) view["ended"] = unix_s(clock, *job.ended);
  if (const std::string why = why_waiting(roster, job); !why.empty()) view["why"] = why;
  if (tells_failure(roster.state_of(job))) put_proof(view, job.proof);
  if (progress != nullptr) view["progress"] = progress_json(*progress);
  if (job.array != 0) {
    view["array"] = job.array;
    view["index"] = job.index;
  }
  // A job in back-off starts to wait in the future, so clamp to now.
  if (job.row && !job.lease) {
    view["waits_since"] = unix_s(clock, std::min(job.waits_since, clock.now()));
  }
  if (!job.lease) return view;
  const Resources total = total_of(job.lease->placement);
  view["where"] = roster.where(job.lease->placement);
  view["cpus"] = cpus(total.cpu_milli);
  view["mem_gib"] = gib(total.mem_mib);
  if (job.lease->trial) view["prerun"] = true;
  return view;
}

json view_of(const JobRow& row, const LiveClock& clock) {
  json view = {{"id", row.id},
               {"name", row.name},
               {"user", row.user},
               {"tenant", row.tenant},
               {"state", row.state},
               {"gpus_held", 0},
               {"submitted", unix_s(clock, row.submitted)},
               {"leases_used", row.attempts}};
  if (row.started) view["started"] = unix_s(clock, *row.started);
  if (row.ended) view["ended"] = unix_s(clock, *row.ended);
  if (!row.exit.empty()) view["why"] = row.exit;
  const json details = json::parse(row.spec, nullptr, false);
  if (!details.is_object()) return view;
  for (const char* key :
       {"ran_s", "progress", "array", "index", "signature", "evidence", "line", "advice"}) {
    if (details.contains(key)) view[key] = details[key];
  }
  const json request = details.value("request", json::object());
  view["gpus"] = request.value("gpus", 1);
  view["priority"] = request.value("priority", 0);
  return view;
}

json view_of(const AttemptRow& row, const LiveClock& clock) {
  json view = {{"number", row.number}, {"where", row.nodes}, {"state", row.state}};
  if (row.started) view["started"] = unix_s(clock, *row.started);
  if (row.ended) view["ended"] = unix_s(clock, *row.ended);
  const json facts = json::parse(row.exit, nullptr, false);
  if (!facts.is_object()) return view;
  for (const char* key : {"isolation", "cpus", "mem_gib", "cpu_s", "mem_peak_gib", "reason",
                          "signature", "evidence", "line", "advice"}) {
    if (facts.contains(key)) view[key] = facts[key];
  }
  if (const auto reason = find_reason(facts.value("reason", ""))) {
    view["reason_text"] = words_of(*reason);
  }
  if (facts.value("trial", false)) view["prerun"] = true;
  view["exit"] = facts.value("words", "");
  // A job that still runs at the time limit of its pre-run has passed it.
  if (view.contains("prerun") && row.state == fate_name(LeaseResult::kTimeLimit)) {
    view["state"] = "passed";
    view["exit"] = "pre-run passed";
  }
  return view;
}

json tenants_view(const Roster& roster) {
  struct Sum {
    int gpus = 0, running = 0, queued = 0;
  };
  std::map<std::string, Sum> sums;
  for (const auto& [id, job] : roster.jobs()) {
    if (job.end) continue;
    Sum& sum = sums[std::string(tenant_or_default(job.tenant))];
    if (job.lease) {
      sum.gpus += total_of(job.lease->placement).gpus;
      ++sum.running;
    } else if (roster.state_of(job) == LiveState::kQueued) {
      ++sum.queued;
    }
  }
  json list = json::array();
  const auto add = [&](const std::string& name, json extra) {
    const Sum sum = sums[name];
    extra.update({{"name", name},
                  {"gpus_used", sum.gpus},
                  {"running", sum.running},
                  {"queued", sum.queued}});
    list.push_back(std::move(extra));
  };
  const auto& tenants = roster.settings().tenants;
  if (!tenants) {
    add(std::string(kDefaultTenant), {{"quota", roster.settings().topology.total().gpus}});
    return {{"tenants", std::move(list)}};
  }
  for (std::size_t i = 0; i < tenants->size(); ++i) {
    const Tenant& tenant = (*tenants)[TenantId(i)];
    json extra = {{"quota", tenant.quota}};
    if (tenant.parent) extra["parent"] = (*tenants)[*tenant.parent].name;
    add(tenant.name, std::move(extra));
  }
  return {{"tenants", std::move(list)}};
}

json profile_view(const LearnedProfile& learned) {
  const MeasuredProfile& measured = learned.measured;
  return {{"user", learned.user},
          {"name", learned.name},
          {"gpus", measured.gpus},
          {"points", points_json(measured.curve)},
          {"need_cpus", static_cast<double>(measured.curve.need()) / 1000 / measured.gpus},
          {"measured_at", learned.unix_s},
          {"words", need_words(learned)}};
}

}  // namespace muster
