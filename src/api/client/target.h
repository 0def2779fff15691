#pragma once

// Request targets, put together from what people typed: every part is escaped.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

// Letters, digits and "-._~" as they are, everything else as %XX.
std::string escaped(std::string_view text);

// "/v1/jobs" and {{"state", "all"}, {"user", ""}} -> "/v1/jobs?state=all": empty values are left
// out.
std::string target(std::string_view path,
                   const std::vector<std::pair<std::string, std::string>>& query);

}  // namespace muster
