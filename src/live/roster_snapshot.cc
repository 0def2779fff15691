// The roster as text and back. Servers go by their names, so that a snapshot fits a cluster that
// has changed meanwhile; what the engine remembers beyond its jobs and their leases is not kept.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/check.h"
#include "live/roster.h"

namespace muster {

namespace {

using nlohmann::json;

json placement_json(const Placement& placement, const Topology& topology) {
  json out = json::array();
  for (const Share& share : placement) {
    out.push_back({topology.node(share.node).name, share.slots, share.cpu_milli, share.mem_mib,
                   share.storage_kbps});
  }
  return out;
}

// Empty if a server is no longer there.
Placement read_placement(const json& in, const Roster& roster) {
  Placement placement;
  for (const json& each : in) {
    const std::optional<NodeId> node = roster.find_node(each.at(0).get<std::string>());
    if (!node) return {};
    placement.push_back({*node, each.at(1).get<SlotMask>(), each.at(2).get<std::int64_t>(),
                         each.at(3).get<std::int64_t>(), each.at(4).get<std::int64_t>()});
  }
  std::sort(placement.begin(), placement.end(),
            [](const Share& a, const Share& b) { return a.node < b.node; });
  return placement;
}

json lease_json(const LiveLease& lease, const Topology& topology) {
  return {{"number", lease.number},
          {"where", placement_json(lease.placement, topology)},
          {"up", lease.up},
          {"trial", lease.trial},
          {"since", lease.since.us()},
          {"up_since", lease.up_since.us()},
          {"isolation", lease.isolation},
          {"says", lease.says}};
}

// Snapshots of before have none.
void put_told(json& out, const std::optional<Told>& told) {
  if (!told) return;
  out["reaction"] = key_of(told->reaction);
  out["bucket"] = key_of(told->bucket);
}

std::optional<Told> read_told(const json& in) {
  const auto reaction = find_reaction(in.value("reaction", ""));
  const auto bucket = find_bucket(in.value("bucket", ""));
  if (!reaction || !bucket) return std::nullopt;
  return Told{*reaction, *bucket};
}

json proof_json(const Proof& proof) {
  json out = {{"signature", proof.signature},
              {"evidence", proof.evidence},
              {"line", proof.line},
              {"advice", proof.advice}};
  put_told(out, proof.told);
  return out;
}

Proof read_proof(const json& in) {
  return {in.value("signature", ""), in.value("evidence", ""), in.value("line", std::int64_t{0}),
          in.value("advice", ""), read_told(in)};
}

json past_json(const Past& past, const Topology& topology) {
  json failures = json::array();
  for (const FailedAttempt& each : past.failures) {
    json servers = json::array();
    for (const NodeId node : each.servers) servers.push_back(topology.node(node).name);
    json failure = {{"reason", info_of(each.reason).key}, {"servers", std::move(servers)}};
    put_told(failure, each.told);
    failures.push_back(std::move(failure));
  }
  json out = {{"work_done", past.work_done.us()},
              {"gpu_us", past.gpu_us},
              {"cpu_milli_ms", past.cpu_milli_ms},
              {"mem_mib_ms", past.mem_mib_ms},
              {"failures", std::move(failures)}};
  if (past.estimate) out["estimate"] = past.estimate->us();
  return out;
}

Past read_past(const json& in, const Roster& roster) {
  Past past;
  past.work_done = Duration::micros(in.at("work_done").get<std::int64_t>());
  past.gpu_us = in.at("gpu_us").get<std::int64_t>();
  past.cpu_milli_ms = in.at("cpu_milli_ms").get<std::int64_t>();
  past.mem_mib_ms = in.at("mem_mib_ms").get<std::int64_t>();
  if (in.contains("estimate")) {  // Snapshots of before have none.
    past.estimate = Duration::micros(in.at("estimate").get<std::int64_t>());
  }
  for (const json& each : in.at("failures")) {
    FailedAttempt failed;
    failed.reason = find_reason(each.at("reason").get<std::string>()).value_or(failed.reason);
    failed.told = read_told(each);
    for (const json& name : each.at("servers")) {
      if (const auto node = roster.find_node(name.get<std::string>())) {
        failed.servers.push_back(*node);
      }
    }
    past.failures.push_back(std::move(failed));
  }
  return past;
}

// What is told of a job, so that a restart does not tell it again.
json story_json(const LiveJob& job, WaitSplit waited) {
  waited += job.waited;
  const auto by_cause = [](const WaitSplit& split) {
    json all = json::array();
    for (const Duration each : split.by_cause) all.push_back(each.us());
    return all;
  };
  return {job.told_wait, job.waits_told, job.waits_since.us(), by_cause(waited),
          by_cause(job.waited_for_lease)};
}

void read_story(const json& in, LiveJob& job) {
  job.told_wait = in.at(0).get<std::string>();
  job.waits_told = in.at(1).get<std::int32_t>();
  job.waits_since = Instant::micros(in.at(2).get<std::int64_t>());
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    job.waited.by_cause[i] = Duration::micros(in.at(3).at(i).get<std::int64_t>());
    if (in.size() <= 4) continue;  // Snapshots of before had no more of it.
    job.waited_for_lease.by_cause[i] = Duration::micros(in.at(4).at(i).get<std::int64_t>());
  }
}

json quarantine_json(const NodeQuarantine& quarantine, const std::string& node) {
  return {{"node", node},
          {"why", quarantine.why},
          {"since", quarantine.since.us()},
          {"until", quarantine.until.us()},
          {"period", quarantine.period.us()},
          {"testing", quarantine.testing},
          {"test", quarantine.test}};
}

NodeQuarantine read_quarantine(const json& in) {
  NodeQuarantine quarantine;
  quarantine.why = in.at("why").get<std::string>();
  quarantine.since = Instant::micros(in.at("since").get<std::int64_t>());
  quarantine.until = Instant::micros(in.at("until").get<std::int64_t>());
  quarantine.period = Duration::micros(in.at("period").get<std::int64_t>());
  quarantine.testing = in.at("testing").get<bool>();
  quarantine.test = in.at("test").get<std::string>();
  return quarantine;
}

}  // namespace

std::string Roster::snapshot() const {
  const Topology& topology = world_->settings.topology;
  json jobs = json::array();
  std::set<Siblings> alive;  // What the others did says something to these.
  for (const auto& [id, job] : jobs_) {
    if (job.end) continue;
    if (!streaks_.empty()) alive.insert(siblings_of(job));
    json out = {{"id", id},
                {"user", job.user},
                {"tenant", job.tenant},
                {"request", request_json(job.request)},
                {"array", job.array},
                {"index", job.index},
                {"at_once", job.at_once},
                {"submitted", job.submitted.us()},
                {"why", job.why},
                {"held", job.held},
                {"held_why", job.held_why},
                {"cancelled", job.cancelled},
                {"tried", job.tried},
                {"in_line", job.in_array_line},
                {"entered", job.row.has_value()},
                {"leases_used", job.leases_used},
                {"losses", job.losses},
                {"ran", job.ran.us()}};
    if (job.started) out["started"] = job.started->us();
    if (job.step_unit > 0) out["step_unit"] = job.step_unit;
    if (!job.proof.signature.empty()) out["proof"] = proof_json(job.proof);
    if (job.lease) out["lease"] = lease_json(*job.lease, topology);
    out["story"] = story_json(job, job.row ? engine_->waited(*job.row, now_) : WaitSplit());
    std::uint32_t base = job.lease_base;
    if (job.row && engine_->state().jobs.contains(*job.row)) {
      out["past"] = past_json(past_of(*job.row), topology);
      base += engine_->state().jobs[*job.row].epoch;
    } else if (job.past) {
      out["past"] = past_json(*job.past, topology);
    }
    out["lease_base"] = base;
    jobs.push_back(std::move(out));
  }
  json drained = json::array();
  for (std::size_t i = 0; i < drained_.size(); ++i) {
    if (drained_[i] != 0) drained.push_back(topology.node(NodeId(i)).name);
  }
  json quarantined = json::array();
  for (const auto& [node, quarantine] : quarantines_) {
    quarantined.push_back(quarantine_json(quarantine, topology.node(node).name));
  }
  json streaks = json::array();
  for (const auto& [siblings, streak] : streaks_) {
    if (!alive.contains(siblings)) continue;
    streaks.push_back({siblings.first, siblings.second,
                       streak.reason ? info_of(*streak.reason).key : "", streak.failed,
                       streak.any_good});
  }
  json known = json::array();
  for (const Known& each : known_) {
    known.push_back(
        {each.user, each.name, each.gpus, each.work.us(), each.tenant, each.submitted.us()});
  }
  const json whole = {{"now", now_.us()},
                      {"jobs", std::move(jobs)},
                      {"drained", std::move(drained)},
                      {"quarantined", std::move(quarantined)},
                      {"conditions", conditions_json()},
                      {"streaks", std::move(streaks)},
                      {"known", std::move(known)},
                      {"digest", digest()}};
  return whole.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<std::vector<Order>> Roster::restore(std::string_view snapshot,
                                           std::span<const std::pair<LiveId, std::uint32_t>> gone) {
  MUSTER_CHECK(jobs_.empty() && live_of_.empty());
  std::set<LiveId> holding;  // A lease of before; those the engine keeps go out.
  std::vector<LiveId> up;
  std::vector<LiveId> leaving;
  try {
    const json whole = json::parse(snapshot);
    now_ = Instant::micros(whole.at("now").get<std::int64_t>());
    digest_.add(std::string_view(whole.at("digest").get_ref<const std::string&>()));
    for (const json& each : whole.at("known")) {
      Known known;
      known.user = each.at(0).get<std::string>();
      known.name = each.at(1).get<std::string>();
      known.gpus = each.at(2).get<std::int32_t>();
      known.work = Duration::micros(each.at(3).get<std::int64_t>());
      if (each.size() > 4) {  // Snapshots of before had only these.
        known.tenant = each.at(4).get<std::string>();
        known.submitted = Instant::micros(each.at(5).get<std::int64_t>());
      }
      LiveJob like;
      like.user = known.user;
      like.request.name = known.name;
      like.request.gpus = known.gpus;
      like.tried = true;
      events_.push_back(WorkKnown{spec_of(like), known.work});
      known_.push_back(std::move(known));
    }
    for (const json& in : whole.at("jobs")) {
      Result<JobRequest> request = read_request(in.at("request").get_ref<const std::string&>());
      if (!request.ok()) return request.error();
      const LiveId id = in.at("id").get<LiveId>();
      LiveJob& job = jobs_[id];
      job.id = id;
      job.user = in.at("user").get<std::string>();
      job.tenant = in.at("tenant").get<std::string>();
      job.request = std::move(request).value();
      job.array = in.at("array").get<LiveId>();
      job.index = in.at("index").get<std::int32_t>();
      job.at_once = in.at("at_once").get<std::int32_t>();
      job.submitted = Instant::micros(in.at("submitted").get<std::int64_t>());
      job.why = in.at("why").get<std::string>();
      job.held = in.at("held").get<bool>();
      job.held_why = in.value("held_why", "");
      job.cancelled = in.at("cancelled").get<bool>();
      job.tried = in.at("tried").get<bool>();
      job.in_array_line = in.at("in_line").get<bool>();
      job.leases_used = in.at("leases_used").get<std::uint32_t>();
      job.losses = in.at("losses").get<std::int32_t>();
      job.ran = Duration::micros(in.at("ran").get<std::int64_t>());
      job.lease_base = in.at("lease_base").get<std::uint32_t>();
      job.step_unit = in.value("step_unit", 0.0);
      if (in.contains("started")) {
        job.started = Instant::micros(in.at("started").get<std::int64_t>());
      }
      if (in.contains("proof")) job.proof = read_proof(in.at("proof"));
      if (in.contains("past")) job.past = read_past(in.at("past"), *this);
      job.waits_since = job.submitted;  // Snapshots of before had no more of it.
      if (in.contains("story")) read_story(in.at("story"), job);
      if (in.contains("lease")) {
        const json& held = in.at("lease");
        LiveLease lease;
        lease.number = held.at("number").get<std::uint32_t>();
        lease.placement = read_placement(held.at("where"), *this);
        lease.up = held.at("up").get<bool>();
        lease.trial = held.at("trial").get<bool>();
        lease.since = Instant::micros(held.at("since").get<std::int64_t>());
        lease.up_since = Instant::micros(held.at("up_since").get<std::int64_t>());
        lease.isolation = held.at("isolation").get<std::string>();
        lease.says = held.value("says", "");
        if (std::find(gone.begin(), gone.end(), std::pair(id, lease.number)) == gone.end()) {
          job.lease = std::move(lease);
        }
      }
      if (!in.at("entered").get<bool>()) continue;
      JobRestored back = as_it_was(job);
      if (job.lease) {
        // Epoch 1 of the new row is the lease it has.
        job.lease_base = job.lease->number - 1;
        back.epoch = 1;
        back.placement = job.lease->placement;
        holding.insert(id);
        if (job.lease->up) up.push_back(id);
        if (job.cancelled || job.held) leaving.push_back(id);
      }
      job.row = JobId(live_of_.size());
      live_of_.push_back(id);
      events_.push_back(std::move(back));
      if (!job.lease && job.told_wait.empty()) new_waits_.push_back({id, 0});
    }
    // Last, since what runs on a drained server goes on.
    for (const json& name : whole.at("drained")) {
      const std::optional<NodeId> node = find_node(name.get<std::string>());
      if (!node || is_drained(*node)) continue;
      drained_[node->index()] = 1;
      events_.push_back(NodeClosed{*node});
    }
    for (const json& each : whole.value("quarantined", json::array())) {
      const std::optional<NodeId> node = find_node(each.at("node").get<std::string>());
      if (!node) continue;
      quarantines_[*node] = read_quarantine(each);
      events_.push_back(NodeClosed{*node});
    }
    restore_conditions(whole.value("conditions", "[]"));  // Snapshots of before had none.
    for (const json& each : whole.value("streaks", json::array())) {
      streaks_[{each.at(0).get<LiveId>(), each.at(1).get<std::string>()}] = {
          find_reason(each.at(2).get<std::string>()), each.at(3).get<std::int32_t>(),
          each.at(4).get<bool>()};
    }
  } catch (const std::exception& error) {
    return Error{std::string("the snapshot cannot be read: ") + error.what()};
  }
  restore_links();
  const std::vector<Event> events = std::exchange(events_, {});
  for (const Action& action : engine_->step(now_, events)) {
    const LiveId id = live_of_[action.job.index()];
    if (action.kind == Action::Kind::kStart && action.epoch == 1) holding.erase(id);
    if (action.kind == Action::Kind::kWakeAt || !holding.contains(id)) carry_out(action);
  }
  std::vector<Order> unkept;
  for (const LiveId id : holding) {
    const LiveLease& lease = *jobs_.at(id).lease;
    unkept.push_back({Order::Kind::kStop, id, lease.number, {}, lease.trial, Duration()});
  }
  if (!unkept.empty()) return unkept;
  for (const LiveId id : up) events_.push_back(LeaseStarted{*jobs_.at(id).row, 1});
  for (const LiveId id : leaving) withdraw(jobs_.at(id));
  // Held or cancelled while it had a lease that is gone now.
  for (auto& [id, job] : jobs_) {
    if (!job.row || job.lease || !(job.held || job.cancelled)) continue;
    withdraw(job);
    leave(job);
    come_back(job);
  }
  run_engine();
  tell_waits();
  return unkept;
}

// Who waits for whom, and the places in arrays.
void Roster::restore_links() {
  for (auto& entry : jobs_) {
    const LiveId id = entry.first;
    LiveJob& job = entry.second;
    const auto wait_for = [&](LiveId other, bool wants_ok) {
      if (!jobs_.contains(other)) return;
      dependents_[other].push_back({id, wants_ok});
      ++job.waits_for;
    };
    for (const LiveId other : job.request.after_ok) wait_for(other, true);
    for (const LiveId other : job.request.after_any) wait_for(other, false);
    if (job.at_once == 0) continue;
    if (!job.in_array_line) {
      ++lines_[job.array].active;
    } else if (!job.held && job.waits_for == 0) {
      lines_[job.array].waiting.push_back(id);
    }
  }
}

}  // namespace muster
