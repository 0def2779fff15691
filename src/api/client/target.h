#pragma once

// Builds request targets from user input, with percent-encoding.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

// Percent-encodes all bytes except letters, digits and "-._~".
std::string escaped(std::string_view text);

// Appends the query to `path` and skips parameters with an empty value: "/v1/jobs" and
// {{"state", "all"}, {"user", ""}} become "/v1/jobs?state=all".
std::string target(std::string_view path,
                   const std::vector<std::pair<std::string, std::string>>& query);

}  // namespace muster
