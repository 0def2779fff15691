#pragma once

// Finds overtaking: the starts at which an older, larger job of the same tenant kept waiting, and
// whether this delayed that job. Small jobs that start before a waiting gang may use GPUs that the
// gang cannot use yet. Computed after the run, without side effects.
//
// waits       from submission until the first start or until the job leaves; later waits, after
//               a stop, do not count
// overtakes   job j overtakes job k at the start of j if k has the same tenant, was submitted
//               earlier, requests more GPUs and still waits. A job that starts at the same
//               instant no longer waits. If there are several such jobs, k is the oldest, and of
//               equally old jobs the first in the list.
//   harmful     if, while j holds its GPUs and k waits, there is an instant when j's GPUs and the
//               free GPUs together are enough for k
//
// Only GPUs are counted. Their location and other constraints of k (quota, locality, CPUs, the next
// round) are not considered: if enough GPUs for k are free anyway, j counts as harmful. Several
// overtaking jobs are not added up: if a stream of small jobs starves a gang, and each is too small
// to make the difference, each counts as harmless.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "sim/run/result.h"

namespace muster {

struct QueuedJob {
  TenantId tenant;
  std::int32_t gpus = 1;             // At least 1.
  Instant submit;                    // When it entered the queue.
  Instant start = Instant::never();  // First start; never() if there was none.
  // When the job released its GPUs. Without GPUs: when it left the queue (a rejected job: on
  // submission). never() if it ran or waited until the end of the run.
  Instant end = Instant::never();
};

enum class Overtaking : std::uint8_t {
  kInOrder,   // Overtook no job, or never started.
  kHarmless,  // Overtook a job that could not have started earlier without it.
  kHarmful,   // Overtook a job that could have started earlier.
};

struct OvertakingCount {
  std::uint64_t overtaking = 0;  // Starts, harmless or harmful.
  std::uint64_t harmful = 0;     // Harmful starts.

  friend bool operator==(const OvertakingCount&, const OvertakingCount&) = default;
};

// Sizes of the overtaken job, in GPUs. It is larger than another job, so it has at least 2 GPUs.
inline constexpr std::array<std::string_view, 3> kOvertakenSizes = {"2-4", "5-8", ">8"};

struct OvertakingResult {
  std::vector<Overtaking> jobs;  // One per job, in the given order.
  std::uint64_t starts = 0;      // Jobs that started.
  OvertakingCount total;         // The sum of by_size.
  std::array<OvertakingCount, kOvertakenSizes.size()> by_size;
};

// REQUIRES: points are in order of time. If several points have the same time, the last one counts.
// Before the first point, nothing counts as harmful. For n jobs and p points: O((n + p) log(n + p))
// time, about 30 n + 16 p bytes. The test compares it with a naive reference implementation.
OvertakingResult find_overtaking(std::span<const QueuedJob> jobs, std::span<const FreePoint> free);

}  // namespace muster
