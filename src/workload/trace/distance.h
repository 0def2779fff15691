#pragma once

// Compares two workloads by the Kolmogorov-Smirnov distance: the maximum difference between the two
// cumulative distributions. It is 0 for equal distributions and 1 for disjoint ones.

#include <cstdint>
#include <string>
#include <vector>

#include "workload/trace/trace.h"

namespace muster {

// Returns the exact distance, also with ties. It is 0 if both are empty and 1 if only one is empty.
// O(n log n).
double ks_distance(std::vector<std::int64_t> a, std::vector<std::int64_t> b);

struct TraceDistance {
  double durations = 0;
  double gpus = 0;
  double gaps = 0;  // Times between consecutive submissions.
};
TraceDistance distance_between(const Trace& a, const Trace& b);

// Returns a small table with the distances and the percentiles of both traces. Ends with a line
// break.
std::string distance_text(const Trace& a, const Trace& b);

}  // namespace muster
