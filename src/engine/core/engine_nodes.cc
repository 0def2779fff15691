// Nodes of the engine: unschedulable nodes, and nodes that external jobs use.

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/types/check.h"
#include "engine/core/engine.h"
#include "engine/core/guaranteed_ledger.h"

namespace muster {

namespace {

// Which resources of leases to sum: those held, or the guaranteed minimums.
enum class LeaseAmount : std::uint8_t { kHeld, kGuaranteed };

std::map<NodeId, Resources> lease_totals_on_shared_nodes(const State& state, LeaseAmount what) {
  std::map<NodeId, Resources> ours;
  if (state.taken.empty()) return ours;
  for (const auto& [node, taken] : state.taken) ours[node] = Resources();
  for (const JobId id : state.placed) {
    if (!state.is_first_holder(id)) continue;
    const Placement& held = View(state, Instant()).placement(id);
    const Placement counted =
        what == LeaseAmount::kHeld ? held : least_on(*state.cluster, state.jobs[id].spec, held);
    for (const Share& share : counted) {
      const auto found = ours.find(share.node);
      if (found == ours.end()) continue;
      found->second += {share.gpus(), share.cpu_milli, share.mem_mib, 0};
    }
  }
  return ours;
}

// Blocks `target` GPUs of the node, as far as they are free, and unblocks GPUs above that number.
void block_slots(State& state, NodeId node, std::int32_t target) {
  Share& ours = state.blocked[node];
  const SlotMask free = state.ledger.free_slots(node);
  const std::int32_t more =
      std::min(target - std::popcount(ours.slots), static_cast<std::int32_t>(std::popcount(free)));
  if (more == 0) return;
  Share share;
  share.node = node;
  share.slots = more > 0 ? lowest_slots(free, more) : lowest_slots(ours.slots, -more);
  more > 0 ? state.ledger.take(share) : state.ledger.give(share);
  ours.slots ^= share.slots;
}

// Withholds the CPU and memory that external jobs use, but leaves our leases their guaranteed
// minimum. Blocks enough GPUs that each free GPU still has its proportional share, because no
// mechanism places a job below that share.
void set_aside(State& state, NodeId node, const Resources& guaranteed) {
  const Resources& all = state.cluster->topology().node(node).capacity;
  const Resources& fair = state.cluster->fair(node);
  const Resources& taken = state.taken.at(node);
  const auto shares = [](std::int64_t left, std::int64_t share) {
    return share > 0 ? left / share : std::numeric_limits<std::int64_t>::max();
  };
  const std::int64_t available =
      std::min({std::int64_t{all.gpus} - guaranteed.gpus - taken.gpus,
                shares(all.cpu_milli - guaranteed.cpu_milli - taken.cpu_milli, fair.cpu_milli),
                shares(all.mem_mib - guaranteed.mem_mib - taken.mem_mib, fair.mem_mib)});
  const auto open = static_cast<std::int32_t>(std::max<std::int64_t>(available, 0));
  if (state.closed[node] == 0) {
    const bool gone = taken == Resources();
    block_slots(state, node, gone ? 0 : all.gpus - guaranteed.gpus - open);
  }
  Share& ours = state.blocked[node];
  const std::int64_t cpu =
      std::clamp<std::int64_t>(all.cpu_milli - guaranteed.cpu_milli, 0, taken.cpu_milli);
  const std::int64_t mem =
      std::clamp<std::int64_t>(all.mem_mib - guaranteed.mem_mib, 0, taken.mem_mib);
  state.ledger.withhold(node, cpu - ours.cpu_milli, mem - ours.mem_mib);
  ours.cpu_milli = cpu;
  ours.mem_mib = mem;
}

}  // namespace

void Engine::apply(const NodeClosed& event) {
  if (event.node.index() >= state_.closed.size() || state_.closed[event.node] != 0) return;
  state_.closed[event.node] = 1;
  ++state_.closed_count;
  // Before the next plan, jobs that were only promised GPUs of the node go back to the queue.
  news_ = true;
}

void Engine::apply(const NodeOpened& event) {
  if (event.node.index() >= state_.closed.size() || state_.closed[event.node] == 0) return;
  state_.closed[event.node] = 0;
  --state_.closed_count;
  if (event.refutes) nodes_.test_passed(now_, event.node);
  nodes_.pardon(event.node);
  std::erase_if(drains_, [&](const auto& drain) { return drain.second == event.node; });
  unblock(event.node);
  news_ = true;
}

void Engine::unblock(NodeId node) {
  Share share;
  share.node = node;
  share.slots = std::exchange(state_.blocked[node].slots, SlotMask{0});
  if (share.slots != 0) state_.ledger.give(share);
}

void Engine::apply(const NodeTaken& event) {
  const NodeId node = event.node;
  if (node.index() >= state_.closed.size()) return;
  const Resources& all = state_.cluster->topology().node(node).capacity;
  Resources taken;
  taken.gpus = std::clamp(event.taken.gpus, 0, all.gpus);
  taken.cpu_milli = std::clamp<std::int64_t>(event.taken.cpu_milli, 0, all.cpu_milli);
  taken.mem_mib = std::clamp<std::int64_t>(event.taken.mem_mib, 0, all.mem_mib);
  const auto found = state_.taken.find(node);
  if (taken == (found == state_.taken.end() ? Resources() : found->second)) return;
  // An empty entry stays until the next block(), which releases the resources and erases it.
  state_.taken[node] = taken;
  news_ = true;
}

// Called before each plan. Withholds free resources of unschedulable nodes and the resources that
// external jobs use.
void Engine::block() {
  if (!news_ || (state_.closed_count == 0 && state_.taken.empty())) return;
  do {
    block_closed();
    for (const auto& [node, guaranteed] :
         lease_totals_on_shared_nodes(state_, LeaseAmount::kGuaranteed))
      set_aside(state_, node, guaranteed);
  } while (revoke_misplaced());
  std::erase_if(state_.taken, [](const auto& each) { return each.second == Resources(); });
}

void Engine::block_closed() {
  for (std::size_t i = 0; state_.closed_count > 0 && i < state_.closed.size(); ++i) {
    if (state_.closed[NodeId(i)] == 0) continue;
    block_slots(state_, NodeId(i), state_.cluster->topology().node(NodeId(i)).capacity.gpus);
  }
}

// Revokes promised leases on unschedulable nodes, and on nodes where leases and external jobs
// together exceed the capacity. Resources that a plan frees there are not for other jobs.
bool Engine::revoke_misplaced() {
  const std::map<NodeId, Resources> ours = lease_totals_on_shared_nodes(state_, LeaseAmount::kHeld);
  const auto is_full = [&](const Share& share) {
    if (state_.closed[share.node] != 0) return true;
    const auto found = ours.find(share.node);
    if (found == ours.end()) return false;
    Resources sum = found->second;
    sum += state_.taken.at(share.node);
    return !sum.fits_in(state_.cluster->topology().node(share.node).capacity);
  };
  std::vector<JobId> misplaced;
  for (const JobId id : state_.placed) {
    const Placement& placement = lease(id).placement;
    if (lease(id).state == Lease::State::kPromised &&
        std::any_of(placement.begin(), placement.end(), is_full)) {
      misplaced.push_back(id);
    }
  }
  for (const JobId id : misplaced) {
    Job& job = state_.jobs[id];
    give_back(job);
    revoke(job);
    wait_again(id);
  }
  return !misplaced.empty();
}

}  // namespace muster
