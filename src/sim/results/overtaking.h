#pragma once

// Who overtook whom: the starts of a run at which an older, larger job of the same tenant was left
// waiting, and whether it lost by it. Small jobs that slip past a waiting gang use GPUs it cannot
// use yet; it loses if with theirs it could have started earlier. Pure, and computed after the run.
//
//   waits       from its submission until it starts or leaves; what a job waits after it has once
//               been stopped does not count
//   overtakes   job j, at its start, if a job k of the same tenant is older (submitted earlier; of
//               jobs submitted at one instant none is older), larger (asks for more GPUs) and still
//               waits. One that starts at the same instant waits no longer. Of several such k the
//               first in line counts: the oldest, and of equally old ones the first in the list.
//   harmful     if at some instant from the start of j on, while j holds its GPUs and k waits, j's
//               GPUs and the free ones together are as many as k asks for
//
// It is a count of GPUs. Where they are, and whatever else k may have waited for (quota, locality,
// CPUs, the next round), is not considered: while enough for k are free anyway, j counts as
// harmful. Nor is what several that overtook k held together: a gang starved by a stream of small
// jobs, each of them too small to make the difference, is overtaken harmlessly every time.

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

struct JobInLine {
  TenantId tenant;
  std::int32_t gpus = 1;  // At least 1.
  Instant submit;
  Instant start = Instant::never();  // The first; never() if there was none.
  // When it let go of its GPUs, or if it never had any, when it left the line: at submission if it
  // was rejected. never() if it held on, or waited, until the end of the run.
  Instant end = Instant::never();
};

enum class Overtaking : std::uint8_t {
  kInOrder,   // Overtook nobody, or never started.
  kHarmless,  // Overtook a job that could not have started earlier without it.
  kHarmful,   // Overtook a job that could have.
};

struct OvertakingCount {
  std::uint64_t overtaking = 0;  // Starts, harmless or harmful.
  std::uint64_t harmful = 0;     // Those of them that were harmful.

  friend bool operator==(const OvertakingCount&, const OvertakingCount&) = default;
};

// Sizes are those of the job overtaken, whose loss is the question. It is larger than another, so
// nobody overtakes a job of 1 GPU.
inline constexpr std::array<std::string_view, 3> kOvertakenSizes = {"2-4", "5-8", ">8"};

struct OvertakingResult {
  std::vector<Overtaking> jobs;  // As many as were given, in the same order.
  std::uint64_t starts = 0;      // Jobs that started.
  OvertakingCount total;         // = the sum of by_size.
  std::array<OvertakingCount, kOvertakenSizes.size()> by_size;
};

// Jobs are listed in order of submission, points in order of time: of several at one instant the
// last counts, and of the time before the first nothing is known, so nothing is harmful then. For n
// jobs and p points: (n + p) log(n + p) time at most, some 30 n + 16 p bytes. Naive twin in the
// test.
OvertakingResult find_overtaking(std::span<const JobInLine> jobs, std::span<const FreePoint> free);

}  // namespace muster
