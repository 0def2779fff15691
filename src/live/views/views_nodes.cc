// The view of the nodes.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "live/views/fleet_view.h"
#include "live/views/job_owner.h"
#include "live/views/view_units.h"
#include "live/views/views.h"

namespace muster {

namespace {

using nlohmann::json;

std::vector<int> slots_of(SlotMask mask) {
  std::vector<int> slots;
  for (int i = 0; i < 64; ++i) {
    if ((mask >> i & 1) != 0) slots.push_back(i);
  }
  return slots;
}

json quarantine_view(const NodeQuarantine& quarantine, const LiveClock& clock) {
  json view = {{"why", quarantine.why},
               {"evidence", key_of(quarantine.grade)},
               {"since", unix_s(clock, quarantine.since)},
               {"testing", quarantine.testing}};
  if (!quarantine.testing) view["test_at"] = unix_s(clock, quarantine.until);
  if (!quarantine.test.empty()) view["last_test"] = quarantine.test;
  return view;
}

// "2 GPUs, 6 CPUs used by external jobs"
std::string held_by_others(const Resources& taken) {
  std::vector<std::string> parts;
  if (taken.gpus > 0)
    parts.push_back(fmt::format("{} GPU{}", taken.gpus, taken.gpus == 1 ? "" : "s"));
  if (taken.cpu_milli > 0) {
    parts.push_back(
        fmt::format("{:.4g} CPU{}", cpus(taken.cpu_milli), taken.cpu_milli == 1000 ? "" : "s"));
  }
  if (taken.mem_mib > 0) parts.push_back(fmt::format("{:.4g} GiB", gib(taken.mem_mib)));
  return fmt::format("{} used by external jobs", fmt::join(parts, ", "));
}

std::string worded(const NodeQuarantine& quarantine, Instant now) {
  const auto left = std::max(Duration(), quarantine.until - now);
  std::string text =
      fmt::format("quarantined {} ago: {}", rough(now - quarantine.since), quarantine.why);
  if (!quarantine.test.empty()) text += "; its test failed: " + quarantine.test;
  return text + (quarantine.testing ? "; being tested" : "; tested in " + rough(left));
}

// The jobs on each node that the caller may see, and the resources of all jobs.
struct HeldByNode {
  std::map<NodeId, json> jobs;
  std::map<NodeId, Resources> used;
};

HeldByNode held_by_node(const Roster& roster, const Caller& caller) {
  HeldByNode held;
  for (const auto& [id, job] : roster.jobs()) {
    if (!job.lease) continue;
    const bool seen = may_see(caller, owner_of(job));
    for (const Share& share : job.lease->placement) {
      if (seen) {
        held.jobs[share.node].push_back({{"id", id}, {"gpus", slots_of(share.slots)}});
      }
      held.used[share.node] += {share.gpus(), share.cpu_milli, share.mem_mib, 0};
    }
  }
  return held;
}

NodeCondition condition_of(const Roster& roster, NodeId id) {
  const auto found = roster.conditions().find(id);
  return found == roster.conditions().end() ? NodeCondition() : found->second;
}

const char* state_word(const Roster& roster, NodeId id, const NodeCondition& condition) {
  if (!condition.usable) return "unusable";
  if (roster.quarantines().contains(id)) return "quarantined";
  return roster.engine().state().closed[id] == 0 ? "open" : "drained";
}

// Returns the capacity and the free resources of a node.
json amounts_view(const Roster& roster, NodeId id, const NodeCondition& condition,
                  const GpuRoom& room, HeldByNode& held) {
  const Topology& topology = roster.settings().topology;
  const Node& node = topology.node(id);
  const Resources& used = held.used[id];
  Resources left = node.capacity - used;
  left.cpu_milli = std::max<std::int64_t>(0, left.cpu_milli - condition.taken.cpu_milli);
  left.mem_mib = std::max<std::int64_t>(0, left.mem_mib - condition.taken.mem_mib);
  return {{"name", node.name},
          {"open", roster.engine().state().closed[id] == 0},
          {"state", state_word(roster, id, condition)},
          {"gpus", node.capacity.gpus},
          {"gpus_used", used.gpus},
          {"gpus_free", room.free},
          {"gpus_reserved", room.reserved},
          {"gpu_type", topology.gpu_type_name(node.gpu_type)},
          {"rack", topology.rack_name(node.rack)},
          {"cpus", cpus(node.capacity.cpu_milli)},
          {"cpus_free", cpus(left.cpu_milli)},
          {"mem_gib", gib(node.capacity.mem_mib)},
          {"mem_free_gib", gib(left.mem_mib)},
          {"jobs", held.jobs.contains(id) ? held.jobs[id] : json::array()}};
}

// Adds the reasons of the node's state, as fields and in front of its notes.
void add_condition(const Roster& roster, NodeId id, const NodeCondition& condition,
                   const LiveClock& clock, json& view) {
  json words = json::array();
  if (!condition.usable) {
    view["why"] = condition.why;
    view["since"] = unix_s(clock, condition.since);
    words.push_back("unschedulable: " + condition.why);
  }
  if (const auto found = roster.quarantines().find(id); found != roster.quarantines().end()) {
    view["quarantine"] = quarantine_view(found->second, clock);
    words.push_back(worded(found->second, clock.now()));
  }
  if (roster.is_drained(id) && !words.empty()) words.push_back("also drained");
  if (const auto end = roster.drain_ends().find(id); end != roster.drain_ends().end()) {
    view["drained_until"] = unix_s(clock, end->second);
  }
  if (condition.taken != Resources()) {
    view["others"] = {{"gpus", condition.taken.gpus},
                      {"cpus", cpus(condition.taken.cpu_milli)},
                      {"mem_gib", gib(condition.taken.mem_mib)}};
    words.push_back(held_by_others(condition.taken));
  }
  if (words.empty()) return;
  for (const json& each : view.value("notes", json::array())) words.push_back(each);
  view["notes"] = std::move(words);
}

}  // namespace

json nodes_view(const Roster& roster, const std::vector<NodeCaveats>& notes, const LiveClock& clock,
                const Caller& caller) {
  const std::vector<GpuRoom> rooms = gpu_rooms(roster, clock);
  HeldByNode held = held_by_node(roster, caller);
  json list = json::array();
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    const NodeId id(i);
    const NodeCondition condition = condition_of(roster, id);
    json view = amounts_view(roster, id, condition, rooms[i], held);
    if (i < notes.size()) {
      view["gpus_virtual"] = notes[i].gpus_virtual;
      view["isolation"] = notes[i].full_isolation ? "full" : "reduced";
      view["notes"] = notes[i].words;
    }
    add_condition(roster, id, condition, clock, view);
    list.push_back(std::move(view));
  }
  return {{"nodes", std::move(list)}};
}

}  // namespace muster
