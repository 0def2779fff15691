#pragma once

// Validates one row of a trace file and converts it to a job, or skips it for a reason.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/model/profile.h"
#include "workload/input/throughputs_file.h"
#include "workload/trace/columns.h"
#include "workload/trace/format.h"
#include "workload/trace/read_summary.h"
#include "workload/trace/row_names.h"
#include "workload/trace/row_numbers.h"
#include "workload/trace/trace.h"

namespace muster {

// Tables that a reader uses in addition to the trace. Without throughputs, reading a format that
// needs them fails.
struct TraceFacts {
  const ProfileTable& profiles;
  const ThroughputTable* throughputs = nullptr;
};

// Reads rows in file order, for parse_trace(). It adds names to the tables of the trace; the caller
// adds the jobs to Trace::jobs.
class RowReader {
 public:
  // REQUIRES: the format, the trace and the tables in `facts` outlive this object.
  RowReader(const FormatSpec& format, Columns columns, const TraceFacts& facts, Trace& trace);
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;
  ~RowReader() = default;

  // Converts one row into `kept`. If the row is skipped, `kept` is empty and tally() counts the
  // reason. `number` is the row number from 0; it is the job id if there is no id column. Errors
  // name the column and the problem; the caller adds file and line.
  // REQUIRES: there are as many cells as columns.
  MaybeError read(const std::vector<std::string_view>& cells, std::size_t number,
                  std::optional<TraceJob>& kept);

  const Columns& columns() const { return columns_; }
  ReadSummary tally() const;
  // Text of the earliest submission date; empty if the format has no dates.
  const std::string& first_date() const { return first_date_; }

 private:
  MaybeError settle_gpus(const RowNumbers& row, TraceJob& job) const;
  MaybeError check_range(const RowNumbers& row, const TraceJob& job) const;
  std::optional<SkippedRows> reason_to_leave_out(const RowNumbers& row, const TraceJob& job) const;
  MaybeError check_order(const TraceJob& job) const;
  MaybeError settle_duration(const RowNumbers& row, TraceJob& job) const;
  MaybeError time_steps(const RowNumbers& row, TraceJob& job) const;
  MaybeError set_duration(double seconds, double each, TraceJob& job) const;
  void count(const RowNumbers& row, const TraceJob& job, std::string_view submit_text);

  const FormatSpec& format_;
  const Columns columns_;
  const TraceFacts facts_;
  const Trace& trace_;
  const std::optional<std::size_t> id_column_, submit_column_;
  NumberReader numbers_;
  NameReader names_;
  ReadSummary tally_;
  std::optional<Instant> earliest_, latest_;  // Submit times of the rows read so far.
  std::string first_date_;
};

}  // namespace muster
