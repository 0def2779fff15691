#pragma once

// The sentences in which readers say what they left out or changed.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// "1 job", "3 jobs".
std::string counted(std::int64_t count, std::string_view noun);

// Adds "3 jobs without attempts" for (3, "job", "without attempts"); nothing for a count of zero.
void add_note(std::vector<std::string>& notes, std::int64_t count, std::string_view noun,
              std::string_view rest);

// "no such reason: 'syntax-errr'; did you mean 'syntax-error'?"
std::string no_such_reason(std::string_view key);

}  // namespace muster
