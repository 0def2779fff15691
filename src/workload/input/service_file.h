#pragma once

// Reads the total service of earlier jobs, for policies that rank by it. The file has one number
// of GPU-seconds per line and an optional header `duration`, like Tiresias' yarn-gput*.csv. Blank
// lines and lines that begin with # are skipped.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/types/result.h"
#include "engine/model/service_distribution.h"

namespace muster {

// Maximum number of samples in a file; ServiceDistribution keeps kMaxSamples of them.
inline constexpr std::size_t kMaxServiceLines = 1'000'000;

// Returns at least one sample, all above 0, or a one-line error with file, line and value.
Result<ServiceDistribution> read_service_samples(const std::string& path);

// Like read_service_samples(), from memory. `name` is used as the path in messages.
Result<ServiceDistribution> parse_service_samples(std::string_view text, const std::string& name);

}  // namespace muster
