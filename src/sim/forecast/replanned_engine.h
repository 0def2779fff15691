#pragma once

// A new engine with the jobs of another one, under changed rules: without quotas, with another
// placement or another scheduler. wait_explanation.cc uses it, because a copy of an engine keeps
// its planner.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/core/engine.h"
#include "engine/scheduler/scheduler.h"

namespace muster {

// The rules that the original engine was created with. All pointers must outlive the engines made
// from them.
struct SchedulingRules {
  const Cluster* cluster = nullptr;
  PlannerOptions planner;
  EngineOptions engine;
};

class ReplannedEngine {
 public:
  // Restores the active jobs and runs one plan at `now`, which must not be earlier than the
  // engine's last step. Jobs in back-off are omitted. `change` may alter the data of each restored
  // job.
  ReplannedEngine(const Engine& engine, Instant now, const SchedulingRules& rules,
                  const std::function<void(JobId, JobRestored&)>& change = {});

  // Returns true if this job of the original engine has a lease here, or is promised one.
  bool is_placed(JobId job) const;

 private:
  Engine engine_;
  std::vector<std::optional<JobId>> row_of_;  // Indexed by the original engine's JobId.
};

bool is_over(JobState state);
// Returns what is needed to restore the job in another engine at `now`.
JobRestored past_of(const Engine& engine, Instant now, JobId job);

}  // namespace muster
