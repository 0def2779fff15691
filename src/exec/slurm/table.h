#pragma once

// Tables as squeue and sinfo print them with -O 'Field:MARK,Field:MARK': every field is followed by
// the mark, every row by a newline. A mark nobody can guess keeps free text from forging rows.

#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

// "|" and 16 random hexadecimal digits and "|".
std::string random_mark();

// "JobID:MARK,State:MARK".
std::string marked_format(const std::vector<std::string_view>& fields, const std::string& mark);

// The rows of `columns` fields each. The mark is read off the first row, after its first field; a
// plain "|" does too, and then only the last field may contain it. Rows of another form are left
// out; text that has no row at all is an error that begins with `command`.
Result<std::vector<std::vector<std::string_view>>> read_marked(std::string_view text,
                                                               std::size_t columns,
                                                               std::string_view command);

// The text with control characters as spaces.
std::string one_line(std::string_view text);

// Whole numbers as Slurm shortens them: "500000", "1K", "2M" (by 1024). Never below zero; below
// zero if it is none.
std::int64_t slurm_number(std::string_view text);

}  // namespace muster
