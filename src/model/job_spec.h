#pragma once

// What was asked for, by whom: everything about a job that a live scheduler is told at submission.

#include <cstdint>
#include <optional>

#include "base/id.h"
#include "base/time.h"

namespace muster {

struct JobSpec {
  std::int32_t gpus = 1;              // A gang: all of them or none.
  std::optional<GpuTypeId> gpu_type;  // Empty: any.
  ProfileId profile;                  // ProfileTable::kUnknown when nothing is known.
  TenantId tenant;
  UserId user;
  NameId name;
  // Believed run time at the proportional share; zero when nobody gave one. Where it comes from is
  // the run's estimate source, and never the truth unless that says "oracle".
  Duration estimate;
};

}  // namespace muster
