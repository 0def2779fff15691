#pragma once

// Test helper for planners: a small cluster where every order takes effect immediately and timers
// fire when they are due.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/engine.h"
#include "engine/core/world_testing.h"
#include "engine/planner/philly.h"

namespace muster {

// Tenants a, b, ... with these quotas.
inline TenantTree quotas(const std::vector<std::int64_t>& gpus, std::int32_t reclaim_permille = 900,
                         Sharing sharing = Sharing::kQuota) {
  TenantList list;
  list.rules = {sharing, reclaim_permille};
  for (const std::int64_t quota : gpus) {
    TenantSpec spec;
    spec.name = std::string(1, static_cast<char>('a' + list.tenants.size()));
    spec.quota = quota;
    list.tenants.push_back(spec);
  }
  return TenantTree::build(list).value();
}

// Fixed options, independent of the defaults: 3 min, 2 min, two tries per level.
inline PhillyOptions usual() {
  PhillyOptions options;
  options.acquire = Duration::seconds(180);
  options.back_off = Duration::seconds(120);
  options.relax_after = 2;
  return options;
}

inline JobSubmitted job(std::int32_t gpus, int tenant = 0) {
  JobSpec spec;
  spec.gpus = gpus;
  spec.tenant = TenantId(tenant);
  return {spec};
}
inline JobCancelled cancel(int job) { return {JobId(job)}; }

class World {
 public:
  explicit World(std::string_view shorthand, const PhillyOptions& options = usual())
      : World(parse_cluster_shorthand(shorthand).value(), options) {}
  World(Topology topology, const PhillyOptions& options)
      : World(std::move(topology), ProfileTable(),
              [&](const Cluster& cluster) { return std::make_unique<Philly>(cluster, options); }) {}
  using MakePlanner = std::function<Owned<Planner>(const Cluster&)>;
  World(Topology topology, ProfileTable profiles, const MakePlanner& make,
        SpreadFactors spread = {})
      : topology_(std::move(topology)),
        profiles_(std::move(profiles)),
        cluster_(topology_, profiles_, spread),
        engine_(cluster_, make(cluster_), EngineOptions()) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Returns additional events for each timer.
  std::function<std::vector<Event>()> on_timer = [] { return std::vector<Event>(); };

  // Advances to this second and returns all actions with their times, such as "@180 start 2 on 0:1
  // 1:1, @190 stop 2". Changes of GPU sharing: "@5 0+2 turns, @60 0+2 packed, @90 0 alone".
  std::string at(std::int64_t second, const std::vector<Event>& events = {}) {
    text_.clear();
    const Instant until = Instant::at(Duration::seconds(second));
    while (wake_ <= until) {
      const Instant due = wake_;
      wake_ = Instant::never();
      std::vector<Event> now = on_timer();
      now.push_back(TimerFired{});
      if (due == until) now.insert(now.end(), events.begin(), events.end());
      step(due, std::move(now));
      if (due == until) return text_;
    }
    if (!events.empty()) step(until, events);
    return text_;
  }

  LeaseEnded end(int job, LeaseOutcome outcome = LeaseOutcome::kCompleted) const {
    return {JobId(job), engine_.lease(JobId(job)).epoch, outcome};
  }

  // As wait_text().
  std::string waited(int job, std::int64_t second) const { return wait_text(engine_, job, second); }
  const Engine& engine() const { return engine_; }
  const State& state() const { return engine_.state(); }

 private:
  void note(Instant now, const std::string& what) {
    if (!text_.empty()) text_ += ", ";
    text_ += '@' + std::to_string(now.us() / 1'000'000) + ' ' + what;
  }
  void note_company(Instant now, JobId job) {
    const GpuSharingGroup* sharing_group = state().sharing_group(job);
    if (sharing_group == nullptr) return note(now, std::to_string(job.index()) + " alone");
    if (sharing_group->members.front() != job) return;  // Reported once per group.
    std::string who;
    for (const JobId member : sharing_group->members) {
      who += (who.empty() ? "" : "+") + std::to_string(member.index());
    }
    note(now, who + (sharing_group->manner == SharingMode::kPacked ? " packed" : " turns"));
  }
  void step(Instant now, std::vector<Event> events) {
    carry_out(engine_, now, std::move(events), [&](const Action& action) {
      const std::string number = std::to_string(action.job.index());
      if (action.kind == Action::Kind::kStart) {
        note(now, "start " + number + " on " + placement_text(engine_.lease(action.job).placement));
      } else if (action.kind == Action::Kind::kStop) {
        note(now, "stop " + number);
      } else if (action.kind == Action::Kind::kReject) {
        note(now, "reject " + number + ": " + engine_.why_rejected(action.job));
      } else if (action.kind == Action::Kind::kShare) {
        note_company(now, action.job);
      } else if (action.kind == Action::Kind::kWakeAt) {
        wake_ = action.at;
      }
    });
  }

  Topology topology_;
  ProfileTable profiles_;
  Cluster cluster_;
  Engine engine_;
  Instant wake_ = Instant::never();
  std::string text_;
};

}  // namespace muster
