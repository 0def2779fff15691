#pragma once

// What was asked for, by whom: everything about a job that a live scheduler is told at submission.

#include <cstdint>
#include <optional>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/model/resources.h"

namespace muster {

struct JobSpec {
  std::int32_t gpus = 1;  // A gang: all of them or none.
  // Of an elastic job, which can be restarted on more or fewer GPUs: the least and the most of
  // them, around `gpus`. Zero: exactly `gpus`.
  std::int32_t fewest = 0;
  std::int32_t most = 0;
  std::optional<GpuTypeId> gpu_type;  // Empty: any.
  // CPU and memory beside each of its GPUs, at the least: it starts with no less, and keeps it.
  // Zeros: whatever the mechanism gives, which is never less than the proportional share.
  Resources least;
  std::int32_t spread = 0;    // On so many servers at most; zero: on any number.
  std::int32_t priority = 0;  // Among the jobs of one tenant, higher first.
  std::int32_t retries = -1;  // After failed attempts, whatever the reason; -1: by the rule.
  ProfileId profile;          // ProfileTable::kUnknown when nothing is known.
  TenantId tenant;
  UserId user;
  NameId name;
  // Believed run time at the proportional share; zero when nobody gave one. Where it comes from is
  // the run's estimate source, and never the truth unless that says "oracle".
  Duration estimate;

  bool has_least() const { return least.cpu_milli > 0 || least.mem_mib > 0; }
  // Whether it asks for more than so many GPUs of a type, and so fits otherwise than its like.
  bool is_particular() const { return has_least() || spread > 0; }
  std::int32_t fewest_gpus() const { return fewest > 0 ? fewest : gpus; }
  std::int32_t most_gpus() const { return most > 0 ? most : gpus; }
  bool may_have(std::int32_t count) const { return count >= fewest_gpus() && count <= most_gpus(); }
};

}  // namespace muster
