#pragma once

// What was asked for, by whom: everything about a job that a live scheduler is told at submission.

#include <cstdint>
#include <optional>

#include "base/id.h"
#include "base/time.h"

namespace muster {

struct JobSpec {
  std::int32_t gpus = 1;  // A gang: all of them or none.
  // Of an elastic job, which can be restarted on more or fewer GPUs: the least and the most of
  // them, around `gpus`. Zero: exactly `gpus`.
  std::int32_t fewest = 0;
  std::int32_t most = 0;
  std::optional<GpuTypeId> gpu_type;  // Empty: any.
  std::int32_t priority = 0;          // Among the jobs of one tenant, higher first.
  std::int32_t retries = -1;  // After failed attempts, whatever the reason; -1: by the rule.
  ProfileId profile;          // ProfileTable::kUnknown when nothing is known.
  TenantId tenant;
  UserId user;
  NameId name;
  // Believed run time at the proportional share; zero when nobody gave one. Where it comes from is
  // the run's estimate source, and never the truth unless that says "oracle".
  Duration estimate;

  std::int32_t fewest_gpus() const { return fewest > 0 ? fewest : gpus; }
  std::int32_t most_gpus() const { return most > 0 ? most : gpus; }
  bool may_have(std::int32_t count) const { return count >= fewest_gpus() && count <= most_gpus(); }
};

}  // namespace muster
