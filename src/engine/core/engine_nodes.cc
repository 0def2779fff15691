// The engine's servers: those that close and open, and those that others have a part of.

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/types/check.h"
#include "engine/core/engine.h"
#include "engine/core/least_books.h"

namespace muster {

namespace {

// Of our leases where strangers are.
enum class Ours : std::uint8_t { kHeld, kRights };

std::map<NodeId, Resources> ours_beside_strangers(const State& state, Ours what) {
  std::map<NodeId, Resources> ours;
  if (state.taken.empty()) return ours;
  for (const auto& [node, taken] : state.taken) ours[node] = Resources();
  for (const JobId id : state.placed) {
    if (!state.is_first_holder(id)) continue;
    const Placement& held = View(state, Instant()).placement(id);
    const Placement counted =
        what == Ours::kHeld ? held : least_on(*state.cluster, state.jobs[id].spec, held);
    for (const Share& share : counted) {
      const auto found = ours.find(share.node);
      if (found == ours.end()) continue;
      found->second += {share.gpus(), share.cpu_milli, share.mem_mib, 0};
    }
  }
  return ours;
}

// As many of its GPUs as that, if they are free; those above it are to be had again.
void block_slots(State& state, NodeId node, std::int32_t wanted) {
  Share& ours = state.blocked[node];
  const SlotMask free = state.books.free_slots(node);
  const std::int32_t more =
      std::min(wanted - std::popcount(ours.slots), static_cast<std::int32_t>(std::popcount(free)));
  if (more == 0) return;
  Share share;
  share.node = node;
  share.slots = more > 0 ? lowest_slots(free, more) : lowest_slots(ours.slots, -more);
  more > 0 ? state.books.take(share) : state.books.give(share);
  ours.slots ^= share.slots;
}

// For strangers: the CPU and memory they hold, unless our own leases would be left with less than
// they have a right to there, which nobody takes from them; and so many GPUs that each of the rest
// has its share of what is left, since no mechanism places anybody below that.
void set_aside(State& state, NodeId node, const Resources& rights) {
  const Resources& all = state.cluster->topology().node(node).capacity;
  const Resources& fair = state.cluster->fair(node);
  const Resources& taken = state.taken.at(node);
  const auto shares = [](std::int64_t left, std::int64_t share) {
    return share > 0 ? left / share : std::numeric_limits<std::int64_t>::max();
  };
  const std::int64_t to_be_had =
      std::min({std::int64_t{all.gpus} - rights.gpus - taken.gpus,
                shares(all.cpu_milli - rights.cpu_milli - taken.cpu_milli, fair.cpu_milli),
                shares(all.mem_mib - rights.mem_mib - taken.mem_mib, fair.mem_mib)});
  const auto open = static_cast<std::int32_t>(std::max<std::int64_t>(to_be_had, 0));
  if (state.closed[node] == 0) {
    const bool gone = taken == Resources();
    block_slots(state, node, gone ? 0 : all.gpus - rights.gpus - open);
  }
  Share& ours = state.blocked[node];
  const std::int64_t cpu =
      std::clamp<std::int64_t>(all.cpu_milli - rights.cpu_milli, 0, taken.cpu_milli);
  const std::int64_t mem = std::clamp<std::int64_t>(all.mem_mib - rights.mem_mib, 0, taken.mem_mib);
  state.books.withhold(node, cpu - ours.cpu_milli, mem - ours.mem_mib);
  ours.cpu_milli = cpu;
  ours.mem_mib = mem;
}

}  // namespace

void Engine::apply(const NodeClosed& event) {
  if (event.node.index() >= state_.closed.size() || state_.closed[event.node] != 0) return;
  state_.closed[event.node] = 1;
  ++state_.closed_count;
  // Whoever was only promised a part of it goes back to the queue before the next plan.
  news_ = true;
}

void Engine::apply(const NodeOpened& event) {
  if (event.node.index() >= state_.closed.size() || state_.closed[event.node] == 0) return;
  state_.closed[event.node] = 0;
  --state_.closed_count;
  servers_.pardon(event.node);
  std::erase_if(drains_, [&](const auto& drain) { return drain.second == event.node; });
  unblock(event.node);
  news_ = true;
}

void Engine::unblock(NodeId node) {
  Share share;
  share.node = node;
  share.slots = std::exchange(state_.blocked[node].slots, SlotMask{0});
  if (share.slots != 0) state_.books.give(share);
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
  state_.taken[node] = taken;  // Nothing is kept until the next block() has given all of it back.
  news_ = true;
}

// Before each plan: what has become free on a closed server is not to be had, nor what strangers
// hold elsewhere.
void Engine::block() {
  if (!news_ || (state_.closed_count == 0 && state_.taken.empty())) return;
  do {
    block_closed();
    for (const auto& [node, right] : ours_beside_strangers(state_, Ours::kRights))
      set_aside(state_, node, right);
  } while (revoke_misplaced());
  std::erase_if(state_.taken, [](const auto& each) { return each.second == Resources(); });
}

void Engine::block_closed() {
  for (std::size_t i = 0; state_.closed_count > 0 && i < state_.closed.size(); ++i) {
    if (state_.closed[NodeId(i)] == 0) continue;
    block_slots(state_, NodeId(i), state_.cluster->topology().node(NodeId(i)).capacity.gpus);
  }
}

// Leases that are only promised, on a server that takes none, or where our leases and strangers
// together have more than there is. Whatever a plan frees there is not for others to have.
bool Engine::revoke_misplaced() {
  const std::map<NodeId, Resources> ours = ours_beside_strangers(state_, Ours::kHeld);
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
