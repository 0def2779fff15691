#pragma once

// Reads how much service earlier jobs needed, for the policies that rank by it: one number a line,
// GPU-seconds, under a header `duration` that may be left out. Tiresias' yarn-gput*.csv are such
// files. Blank lines and lines that begin with # are skipped.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/types/result.h"
#include "engine/model/service_distribution.h"

namespace muster {

// The most a file may list; the distribution keeps kMostSamples of them.
inline constexpr std::size_t kMostServiceLines = 1'000'000;

// At least one sample, each above zero; or one line that names the file, line and culprit.
Result<ServiceDistribution> read_service_samples(const std::string& path);

// The same from memory; `name` stands for the path in messages.
Result<ServiceDistribution> parse_service_samples(std::string_view text, const std::string& name);

}  // namespace muster
