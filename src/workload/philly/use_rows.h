#pragma once

// Rows of Philly's files of use: a time with its zone, a server, and numbers. Reads them one after
// the other at the pace of the disk; philly_use.h says what becomes of them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/line_stream.h"
#include "base/types/result.h"
#include "workload/history/held_index.h"

namespace muster {

class UseRows {
 public:
  static constexpr std::int64_t kMissing = -1;  // NA, or nothing at all.
  static constexpr std::int64_t kBeyond = -2;   // A number, but negative or above all reason.

  explicit UseRows(ByteSource source);

  // The names of the columns after time and server, but for an empty one after a last comma. Wants
  // a column `time` and one `machineId` or `machine_id`, in this order.
  Result<std::vector<std::string>> read_header();

  // Goes to the next row; false at the end. Every refusal is one line, "file:line: column: what".
  Result<bool> next();

  Minute minute() const { return minute_; }
  std::string_view server() const { return server_; }
  const std::vector<std::int64_t>& values() const { return values_; }  // Millionths, one a column.

  Error fail(std::string_view what) const { return lines_.fail(what); }

 private:
  Refusal read_time(std::string_view text);
  Refusal read_values(const char* at, const char* end);
  Refusal read_odd_value(std::string_view text, std::size_t column);

  LineStream lines_;
  std::vector<std::string> columns_;
  std::vector<std::int64_t> values_;
  std::string time_text_;  // Of the row before: hundreds of servers have the same.
  Minute minute_ = 0;
  std::string_view server_;
};

}  // namespace muster
