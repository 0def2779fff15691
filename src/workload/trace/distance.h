#pragma once

// How far apart two workloads are, by the Kolmogorov-Smirnov distance of what matters to a
// scheduler: the largest difference between the two cumulative distributions, 0 for equal ones and
// 1 for those that do not overlap.

#include <cstdint>
#include <string>
#include <vector>

#include "workload/trace/trace.h"

namespace muster {

// Exact, ties included. Of nothing and nothing it is 0, of nothing and something 1.
double ks_distance(std::vector<std::int64_t> a, std::vector<std::int64_t> b);

struct TraceDistance {
  double durations = 0;
  double gpus = 0;
  double gaps = 0;  // Between one submission and the next.
};
TraceDistance distance_between(const Trace& a, const Trace& b);

// The distances beside medians of both traces, as a small table; ends with a line break.
std::string distance_text(const Trace& a, const Trace& b);

}  // namespace muster
