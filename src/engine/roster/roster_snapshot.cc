// Roster::state() and Roster::restore(). Nodes are matched by name, so a state can be restored on a
// changed cluster.

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/types/check.h"
#include "engine/roster/roster.h"

namespace muster {

namespace {

template <class Change>
void for_each_tenant(BlameMemory& memory, const Change& change) {
  for (BlameMemory::Closing& closing : memory.closings) {
    for (TenantId& tenant : closing.tenants) change(tenant);
  }
  for (BlameMemory::Standing& standing : memory.tenants) change(standing.tenant);
}

}  // namespace

// Data that restore() keeps until the engine has decided about the leases.
struct Roster::Restoring {
  std::span<const std::pair<LiveId, std::uint32_t>> gone;
  std::vector<std::optional<NodeId>> nodes;  // By NodeId of the state; no value: no such node here.
  std::set<LiveId> holding;                  // Jobs whose lease the engine has not kept yet.
  std::vector<LiveId> up;
  std::vector<LiveId> leaving;

  std::optional<NodeId> here(NodeId node) const { return nodes[node.index()]; }

  // Empty if a node is no longer there.
  Placement here(const Placement& placement) const {
    Placement out;
    for (Share share : placement) {
      const std::optional<NodeId> node = here(share.node);
      if (!node) return {};
      share.node = *node;
      out.push_back(share);
    }
    std::sort(out.begin(), out.end(),
              [](const Share& a, const Share& b) { return a.node < b.node; });
    return out;
  }

  void translate(LiveJob& job) const {
    if (job.lease) job.lease->placement = here(job.lease->placement);
    if (!job.past) return;
    for (FailedAttempt& failed : job.past->failures) {
      for (const NodeId node : std::exchange(failed.nodes, {})) {
        if (const std::optional<NodeId> found = here(node)) failed.nodes.push_back(*found);
      }
    }
  }
};

RosterState Roster::state() const {
  const std::optional<TenantTree>& tenants = world_->settings.tenants;
  RosterState state;
  state.now = now_;
  state.digest = digest();
  for (const Node& node : world_->settings.topology.nodes()) state.nodes.push_back(node.name);
  for (const auto& [id, job] : jobs_) {
    if (job.end) continue;
    LiveJob& kept = state.jobs.emplace_back(job);
    // The next roster recomputes these.
    kept.waits_for = 0;
    kept.withdrawn = false;
    kept.failed_by.reset();
    if (kept.proof.signature.empty()) kept.proof = {};
    if (kept.lease) kept.lease->stopping = false;
    if (!job.row) continue;
    kept.waited += engine_->waited(*job.row, now_);
    if (!engine_->state().jobs.contains(*job.row)) continue;
    kept.past = past_of(*job.row);
    kept.lease_base += engine_->state().jobs[*job.row].epoch;
  }
  for (std::size_t i = 0; i < drained_.size(); ++i) {
    if (drained_[i] != 0) state.drained.emplace_back(i);
  }
  state.drain_ends.assign(drain_ends_.begin(), drain_ends_.end());
  state.quarantined.assign(quarantines_.begin(), quarantines_.end());
  state.conditions.assign(conditions_.begin(), conditions_.end());
  state.checks.assign(checks_.begin(), checks_.end());
  state.blame = engine_->blame_memory();
  for_each_tenant(state.blame, [&](TenantId& tenant) {
    const std::string name = tenants ? (*tenants)[tenant].name : std::string(kDefaultTenant);
    const auto found = std::find(state.tenants.begin(), state.tenants.end(), name);
    tenant = TenantId(static_cast<std::size_t>(found - state.tenants.begin()));
    if (found == state.tenants.end()) state.tenants.push_back(name);
  });
  state.streaks = siblings_.state(jobs_);
  state.finished.assign(known_.begin(), known_.end());
  return state;
}

Result<std::vector<Order>> Roster::restore(const RosterState& state,
                                           std::span<const std::pair<LiveId, std::uint32_t>> gone,
                                           std::span<const Decisions> given) {
  MUSTER_CHECK(jobs_.empty() && live_of_.empty());
  Restoring restoring;
  restoring.gone = gone;
  for (const std::string& name : state.nodes) restoring.nodes.push_back(find_node(name));
  now_ = state.now;
  digest_.add(std::string_view(state.digest));
  restore_finished(state);
  for (const LiveJob& job : state.jobs) restore_job(job, restoring);
  restore_nodes(state, restoring);  // Last: leases on drained nodes continue.
  restore_blame(state, restoring);
  siblings_.restore(state.streaks);
  restore_links();
  given_ = given;
  std::vector<Order> unkept = restore_leases(restoring);
  if (misfit_) return *misfit_;
  if (!unkept.empty()) return unkept;
  for (const LiveId id : restoring.up) events_.push_back(LeaseStarted{*jobs_.at(id).row, 1});
  for (const LiveId id : restoring.leaving) withdraw(jobs_.at(id));
  // Held or cancelled while it had a lease that is gone now.
  for (auto& [id, job] : jobs_) {
    if (!job.row || job.lease || !(job.held || job.cancelled)) continue;
    withdraw(job);
    leave(job);
    come_back(job);
  }
  run_engine(false);
  given_ = {};
  if (misfit_) return *misfit_;
  tell_waits();
  return unkept;
}

void Roster::restore_finished(const RosterState& state) {
  for (const FinishedSample& known : state.finished) {
    LiveJob like;
    like.user = known.user;
    like.request.name = known.name;
    like.request.gpus = known.gpus;
    like.tried = true;
    events_.push_back(WorkKnown{spec_of(like), known.work});
    known_.push_back(known);
  }
}

void Roster::restore_job(LiveJob kept, Restoring& restoring) {
  const LiveId id = kept.id;
  restoring.translate(kept);
  const bool entered = kept.row.has_value();
  kept.row.reset();
  LiveJob& job = jobs_[id] = std::move(kept);
  const auto is_gone = [&](const LiveLease& lease) {
    return std::find(restoring.gone.begin(), restoring.gone.end(), std::pair(id, lease.number)) !=
           restoring.gone.end();
  };
  if (job.lease && is_gone(*job.lease)) job.lease.reset();
  if (!entered) return;
  JobRestored back = as_it_was(job);
  if (job.lease) {
    // Epoch 1 of the new row is the lease it has.
    job.lease_base = job.lease->number - 1;
    back.epoch = 1;
    back.placement = job.lease->placement;
    restoring.holding.insert(id);
    if (job.lease->up) restoring.up.push_back(id);
    if (job.cancelled || job.held) restoring.leaving.push_back(id);
  }
  job.row = JobId(live_of_.size());
  live_of_.push_back(id);
  events_.push_back(std::move(back));
  if (!job.lease && job.told_wait.empty()) resume_wait(id);
}

void Roster::restore_nodes(const RosterState& state, const Restoring& restoring) {
  for (const NodeId each : state.drained) {
    const std::optional<NodeId> node = restoring.here(each);
    if (!node || is_drained(*node)) continue;
    drained_[node->index()] = 1;
    events_.push_back(NodeClosed{*node});
  }
  for (const auto& [each, until] : state.drain_ends) {
    const std::optional<NodeId> node = restoring.here(each);
    if (node && is_drained(*node)) drain_ends_[*node] = until;
  }
  for (const auto& [each, quarantine] : state.quarantined) {
    const std::optional<NodeId> node = restoring.here(each);
    if (!node) continue;
    quarantines_[*node] = quarantine;
    events_.push_back(NodeClosed{*node});
  }
  for (const auto& [each, condition] : state.conditions) {
    const std::optional<NodeId> node = restoring.here(each);
    if (!node) continue;
    conditions_[*node] = condition;
    if (!condition.usable) events_.push_back(NodeClosed{*node});
    events_.push_back(NodeTaken{*node, condition.taken});
  }
  for (const NodeId each : state.checks) {
    if (const std::optional<NodeId> node = restoring.here(each)) checks_.insert(*node);
  }
}

// Evidence against nodes and tenants that no longer exist is dropped.
void Roster::restore_blame(const RosterState& state, const Restoring& restoring) {
  const std::optional<TenantTree>& tenants = world_->settings.tenants;
  BlameMemory memory = state.blame;
  const auto move = [&](auto& list) {
    std::erase_if(list, [&](auto& each) {
      const std::optional<NodeId> node = restoring.here(each.node);
      if (node) each.node = *node;
      return !node;
    });
  };
  move(memory.events);
  move(memory.closings);
  const TenantId kGone(std::numeric_limits<std::uint32_t>::max());
  for_each_tenant(memory, [&](TenantId& tenant) {
    const bool has_name = tenant.index() < state.tenants.size();
    if (tenants && has_name) {
      tenant = tenants->find(state.tenants[tenant.index()]).value_or(kGone);
    } else {
      tenant = has_name ? TenantId() : kGone;
    }
  });
  for (auto& closing : memory.closings) std::erase(closing.tenants, kGone);
  std::erase_if(memory.tenants, [&](const auto& each) { return each.tenant == kGone; });
  if (!memory.empty()) events_.push_back(BlameRestored{std::move(memory)});
}

// Restores dependencies and places in arrays.
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

// Returns the leases that the engine does not keep.
std::vector<Order> Roster::restore_leases(Restoring& restoring) {
  for (const Action& action : step_engine()) {
    if (action.kind == Action::Kind::kWakeAt) {  // It has no job.
      carry_out(action);
      continue;
    }
    const LiveId id = live_of_[action.job.index()];
    if (action.kind == Action::Kind::kStart && action.epoch == 1) restoring.holding.erase(id);
    if (!restoring.holding.contains(id)) carry_out(action);
  }
  std::vector<Order> unkept;
  if (misfit_) return unkept;
  for (const LiveId id : restoring.holding) {
    const LiveLease& lease = *jobs_.at(id).lease;
    unkept.push_back({Order::Kind::kStop, id, lease.number, {}, lease.trial, Duration()});
  }
  return unkept;
}

}  // namespace muster
