#pragma once

// Reads the rows of Philly's utilization files: a time with its zone, a node and numbers.
// philly_use.h evaluates them. It is fast enough to be limited by the disk.

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
  static constexpr std::int64_t kMissing = -1;  // "NA" or an empty cell.
  static constexpr std::int64_t kBeyond = -2;   // A negative or impossibly large number.

  explicit UseRows(ByteSource source);

  // Returns the column names after time and node, without an empty one after a final comma. The
  // first two columns must be `time`, and `machineId` or `machine_id`. Call it first.
  Result<std::vector<std::string>> read_header();

  // Advances to the next row; returns false at the end. An error is one line, "file:line: column:
  // what".
  Result<bool> next();

  Minute minute() const { return minute_; }
  std::string_view node() const { return node_; }  // Node name; valid until next().
  const std::vector<std::int64_t>& values() const { return values_; }  // Per column, in millionths.

  Error fail(std::string_view what) const { return lines_.fail(what); }

 private:
  MaybeError read_time(std::string_view text);
  MaybeError read_values(const char* at, const char* end);
  MaybeError read_odd_value(std::string_view text, std::size_t column);

  LineStream lines_;
  std::vector<std::string> columns_;
  std::vector<std::int64_t> values_;
  std::string time_text_;  // Time of the previous row: hundreds of rows have the same time.
  Minute minute_ = 0;
  std::string_view node_;
};

}  // namespace muster
