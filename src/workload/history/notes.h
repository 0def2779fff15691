#pragma once

// Formats the notes about records that readers skipped or changed.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// Returns "1 job" or "3 jobs".
std::string counted(std::int64_t count, std::string_view noun);

// Adds "3 jobs without attempts" for (3, "job", "without attempts"). Adds nothing if count is 0.
void add_note(std::vector<std::string>& notes, std::int64_t count, std::string_view noun,
              std::string_view rest);

// Returns "no such reason: 'syntax-errr'; did you mean 'syntax-error'?".
std::string no_such_reason(std::string_view key);

}  // namespace muster
