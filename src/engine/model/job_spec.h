#pragma once

// A job as the scheduler sees it at submission: its request and its owner.

#include <cstdint>
#include <optional>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/model/resources.h"

namespace muster {

struct JobSpec {
  std::int32_t gpus = 1;  // A gang: the job gets all of them or none.
  // Range of GPUs of an elastic job, which can restart with a different number. fewest <= gpus <=
  // most. Zero: exactly `gpus`.
  std::int32_t fewest = 0;
  std::int32_t most = 0;
  std::optional<GpuTypeId> gpu_type;  // Empty: any.
  // Minimum CPU and memory per GPU, guaranteed for the whole run. Zeros: the mechanism decides, and
  // gives at least the proportional share.
  Resources least;
  std::int32_t spread = 0;    // Maximum number of nodes; zero: no limit.
  std::int32_t priority = 0;  // Within the tenant; higher runs first.
  std::int32_t retries = -1;  // Maximum retries for any failure reason; -1: the retry rule decides.
  ProfileId profile;          // ProfileTable::kUnknown if there is no profile.
  TenantId tenant;
  UserId user;
  NameId name;
  // Estimated run time at the proportional share; zero: none. The run's estimate source determines
  // its origin. It is the actual run time only if that source is "oracle".
  Duration estimate;

  bool has_least() const { return least.cpu_milli > 0 || least.mem_mib > 0; }
  // True if constraints beyond GPU count and type can make it fit differently from its demand
  // class.
  bool is_particular() const { return has_least() || spread > 0; }
  std::int32_t fewest_gpus() const { return fewest > 0 ? fewest : gpus; }
  std::int32_t most_gpus() const { return most > 0 ? most : gpus; }
  bool may_have(std::int32_t count) const { return count >= fewest_gpus() && count <= most_gpus(); }
};

}  // namespace muster
