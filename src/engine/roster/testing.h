#pragma once

// Test helpers for the live manager: clusters and requests in one line, and a fake machine that
// checks orders.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/types/random.h"
#include "engine/roster/roster.h"

namespace muster::live_testing {

inline RosterSettings settings_for(const char* cluster, const char* policy = "fifo") {
  RosterSettings settings;
  settings.topology = parse_cluster_shorthand(cluster).value();
  settings.planner.parts.policy = policy;
  settings.engine.estimates = EstimateSource::Kind::kHistory;
  settings.engine.retry = RetryPolicy::none();
  return settings;
}

inline SubmitInput submit(LiveId id, std::int32_t gpus = 1) {
  SubmitInput input;
  input.id = id;
  input.user = "ann";
  input.request.name = "train";
  input.request.command = {"true"};
  input.request.gpus = gpus;
  return input;
}

// The running leases. Checks every order: no GPU and no lease twice.
class Machine {
 public:
  struct Running {
    Placement placement;
    bool up = false;
    bool stopping = false;
    std::uint64_t told = 0;  // Steps it has reported.
  };
  using Name = std::pair<LiveId, std::uint32_t>;

  void obey(std::span<const Order> orders) {
    for (const Order& order : orders) {
      const Name name{order.id, order.lease};
      switch (order.kind) {
        case Order::Kind::kStart:
          EXPECT_TRUE(ever.insert(name).second) << "lease twice: " << name.first;
          for (const auto& [other, running] : leases) {
            EXPECT_NE(other.first, name.first) << "two leases of one job";
            for (const Share& mine : order.placement) {
              for (const Share& theirs : running.placement) {
                EXPECT_FALSE(mine.node == theirs.node && (mine.slots & theirs.slots) != 0)
                    << "a GPU twice: jobs " << name.first << " and " << other.first;
              }
            }
          }
          leases[name].placement = order.placement;
          break;
        case Order::Kind::kStop:
          if (leases.contains(name)) leases[name].stopping = true;
          break;
        case Order::Kind::kResize:
          EXPECT_TRUE(leases.contains(name));
          leases[name].placement = order.placement;
          break;
        case Order::Kind::kTest:
          tests.push_back(order.node);
          break;
      }
    }
  }

  std::map<Name, Running> leases;
  std::set<Name> ever;
  std::vector<std::string> tests;  // Names of tested nodes, in order.
};

// A roster with its machine: every order takes effect immediately, and jobs run until ended.
class Desk {
 public:
  explicit Desk(RosterSettings settings) : roster(std::move(settings)) {}

  void at(std::int64_t second, std::vector<Input> inputs) {
    while (true) {
      roster.step(Instant::at(Duration::seconds(second)), inputs);
      for (const RosterNote& note : roster.notes()) {
        story += (story.empty() ? "" : ", ") + note.kind + " " + std::to_string(note.id);
        heard.push_back(note);
      }
      for (const LiveId id : roster.touched()) {
        if (const LiveJob* job = roster.find(id); job != nullptr && job->end) {
          ends[id] = std::string(state_name(*job->end)) + ": " + job->why;
        }
      }
      machine.obey(roster.orders());
      inputs.clear();
      for (auto& [name, running] : machine.leases) {
        if (running.stopping) {
          inputs.push_back(over(name.first, LeaseResult::kStopped));
        } else if (!std::exchange(running.up, true)) {
          inputs.push_back(LeaseUpInput{name.first, name.second, "full"});
        }
      }
      std::erase_if(machine.leases, [](const auto& lease) { return lease.second.stopping; });
      if (inputs.empty()) return;
    }
  }
  LeaseOverInput over(LiveId id, LeaseResult fate, std::string reason = "") {
    LeaseOverInput input;
    input.id = id;
    input.lease = roster.find(id)->lease->number;
    input.fate = fate;
    input.reason = std::move(reason);
    input.words = "so it went";
    return input;
  }
  // Ends its lease with this outcome.
  void ends_at(std::int64_t second, LiveId id, LeaseResult fate, std::string reason = "") {
    const LeaseOverInput input = over(id, fate, std::move(reason));
    machine.leases.erase({id, input.lease});
    at(second, {input});
  }
  std::string state(LiveId id) const {
    const LiveJob* job = roster.find(id);
    if (job == nullptr) return ends.contains(id) ? "over" : "unknown";
    return std::string(state_name(roster.state_of(*job)));
  }

  Roster roster;
  Machine machine;
  std::string story;
  std::vector<RosterNote> heard;
  std::map<LiveId, std::string> ends;
};

}  // namespace muster::live_testing
