#pragma once

// Reads tables that squeue and sinfo print with -O 'Field:MARK,Field:MARK'. The mark follows every
// field, and a newline follows every row. The mark is random, so that free text cannot forge rows.

#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

// Returns "|", 16 random hexadecimal digits and "|".
std::string random_mark();

// Returns "JobID:MARK,State:MARK".
std::string marked_format(const std::vector<std::string_view>& fields, const std::string& mark);

// Returns the rows, with `columns` fields each. The mark is taken from the first row, after its
// first field. It can be a plain "|"; then only the last field can contain a "|". Malformed rows
// are skipped. Text without any row is an error that begins with `command`.
Result<std::vector<std::vector<std::string_view>>> read_marked(std::string_view text,
                                                               std::size_t columns,
                                                               std::string_view command);

// Returns the text with spaces instead of control characters.
std::string one_line(std::string_view text);

// Parses a whole number in Slurm's notation: "500000", "1K", "2M" (factor 1024). Returns a negative
// value if it is not a number of at least 0.
std::int64_t slurm_number(std::string_view text);

}  // namespace muster
