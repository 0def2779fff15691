#pragma once

// An engine made anew from what another one has, perhaps under other rules: without quotas, without
// regard for where GPUs are, under another scheduler. For questions that a copy cannot answer,
// since a copy keeps its planner.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/core/engine.h"
#include "engine/scheduler/scheduler.h"

namespace muster {

// What the engine asked about was made with. All it points to must outlive what is made from it.
struct Rules {
  const Cluster* cluster = nullptr;
  PlannerOptions planner;
  EngineOptions engine;
};

class Rebuilt {
 public:
  // At `now`, not before the engine's last step. `change` may alter the past of any job.
  Rebuilt(const Engine& engine, Instant now, const Rules& rules,
          const std::function<void(JobId, JobRestored&)>& change = {});

  // Whether this job of the first engine has, or is promised, its GPUs here.
  bool is_placed(JobId job) const;

 private:
  Engine engine_;
  std::vector<std::optional<JobId>> row_of_;  // By the first engine's JobId.
};

bool is_over(JobState state);
// As the engine knows it now.
JobRestored past_of(const Engine& engine, Instant now, JobId job);

}  // namespace muster
