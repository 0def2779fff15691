// What people are shown of the servers.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "live/fleet.h"
#include "live/view_units.h"
#include "live/views.h"

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
               {"since", unix_s(clock, quarantine.since)},
               {"testing", quarantine.testing}};
  if (!quarantine.testing) view["test_at"] = unix_s(clock, quarantine.until);
  if (!quarantine.test.empty()) view["last_test"] = quarantine.test;
  return view;
}

// "2 GPUs, 6 CPUs held by others".
std::string held_by_others(const Resources& taken) {
  std::vector<std::string> parts;
  if (taken.gpus > 0)
    parts.push_back(fmt::format("{} GPU{}", taken.gpus, taken.gpus == 1 ? "" : "s"));
  if (taken.cpu_milli > 0) {
    parts.push_back(
        fmt::format("{:.4g} CPU{}", cpus(taken.cpu_milli), taken.cpu_milli == 1000 ? "" : "s"));
  }
  if (taken.mem_mib > 0) parts.push_back(fmt::format("{:.4g} GiB", gib(taken.mem_mib)));
  return fmt::format("{} held by others", fmt::join(parts, ", "));
}

// For people.
std::string worded(const NodeQuarantine& quarantine, Instant now) {
  const auto left = std::max(Duration(), quarantine.until - now);
  std::string text =
      fmt::format("quarantined {} ago: {}", rough(now - quarantine.since), quarantine.why);
  if (!quarantine.test.empty()) text += "; its test failed: " + quarantine.test;
  return text + (quarantine.testing ? "; being tested" : "; tested in " + rough(left));
}

}  // namespace

json nodes_view(const Roster& roster, const std::vector<NodeNotes>& notes, const LiveClock& clock,
                const std::string& user) {
  const Topology& topology = roster.settings().topology;
  const std::vector<GpuRoom> rooms = gpu_rooms(roster, clock);
  std::map<NodeId, json> jobs;
  std::map<NodeId, Resources> used;
  for (const auto& [id, job] : roster.jobs()) {
    if (!job.lease) continue;
    for (const Share& share : job.lease->placement) {
      if (user.empty() || user == job.user) {
        jobs[share.node].push_back({{"id", id}, {"gpus", slots_of(share.slots)}});
      }
      used[share.node] += {share.gpus(), share.cpu_milli, share.mem_mib, 0};
    }
  }
  json list = json::array();
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    const NodeId id(i);
    const Node& node = topology.node(id);
    const auto condition = roster.conditions().find(id);
    const NodeCondition state =
        condition == roster.conditions().end() ? NodeCondition() : condition->second;
    Resources left = node.capacity - used[id];
    left.cpu_milli = std::max<std::int64_t>(0, left.cpu_milli - state.taken.cpu_milli);
    left.mem_mib = std::max<std::int64_t>(0, left.mem_mib - state.taken.mem_mib);
    const bool open = roster.engine().state().closed[id] == 0;
    const auto quarantine = roster.quarantines().find(id);
    const bool quarantined = quarantine != roster.quarantines().end();
    json view = {{"name", node.name},
                 {"open", open},
                 {"state", !state.usable ? "unusable"
                           : quarantined ? "quarantined"
                           : open        ? "open"
                                         : "drained"},
                 {"gpus", node.capacity.gpus},
                 {"gpus_used", used[id].gpus},
                 {"gpus_free", rooms[i].free},
                 {"gpus_reserved", rooms[i].reserved},
                 {"gpu_type", topology.gpu_type_name(node.gpu_type)},
                 {"rack", topology.rack_name(node.rack)},
                 {"cpus", cpus(node.capacity.cpu_milli)},
                 {"cpus_free", cpus(left.cpu_milli)},
                 {"mem_gib", gib(node.capacity.mem_mib)},
                 {"mem_free_gib", gib(left.mem_mib)},
                 {"jobs", jobs.contains(id) ? jobs[id] : json::array()}};
    if (i < notes.size()) {
      view["gpus_virtual"] = notes[i].gpus_virtual;
      view["isolation"] = notes[i].full_isolation ? "full" : "reduced";
      view["notes"] = notes[i].words;
    }
    json words = json::array();
    if (!state.usable) {
      view["why"] = state.why;
      view["since"] = unix_s(clock, state.since);
      words.push_back("takes no jobs: " + state.why);
    }
    if (quarantined) {
      view["quarantine"] = quarantine_view(quarantine->second, clock);
      words.push_back(worded(quarantine->second, clock.now()));
    }
    if (roster.is_drained(id) && !words.empty()) words.push_back("drained as well");
    if (state.taken != Resources()) {
      view["others"] = {{"gpus", state.taken.gpus},
                        {"cpus", cpus(state.taken.cpu_milli)},
                        {"mem_gib", gib(state.taken.mem_mib)}};
      words.push_back(held_by_others(state.taken));
    }
    if (!words.empty()) {
      for (const json& each : view.value("notes", json::array())) words.push_back(each);
      view["notes"] = std::move(words);
    }
    list.push_back(std::move(view));
  }
  return {{"nodes", std::move(list)}};
}

}  // namespace muster
