#pragma once

// One row of a trace file, checked and made into a job, or left out for a reason.

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
#include "workload/trace/row_names.h"
#include "workload/trace/row_numbers.h"
#include "workload/trace/tally.h"
#include "workload/trace/trace.h"

namespace muster {

// What is known beside the trace. Without throughputs, formats that need them are refused.
struct TraceFacts {
  const ProfileTable& profiles;
  const ThroughputTable* throughputs = nullptr;
};

// Takes rows in the order of the file. It puts names into the tables of the trace, but not the jobs
// into its list.
class RowReader {
 public:
  // The trace and what the facts refer to must outlive it.
  RowReader(const FormatSpec& format, Columns columns, const TraceFacts& facts, Trace& trace);
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;
  ~RowReader() = default;

  // Leaves `kept` empty, and counts why, if the row is left out. There are as many cells as
  // columns; `number` counts rows from 0 and is the id of a job that has none. The errors say which
  // column and what is wrong with it, not where.
  Refusal read(const std::vector<std::string_view>& cells, std::size_t number,
               std::optional<TraceJob>& kept);

  const Columns& columns() const { return columns_; }
  Tally tally() const;
  const std::string& first_date() const { return first_date_; }  // The earliest submission.

 private:
  Refusal settle_gpus(const RowNumbers& row, TraceJob& job) const;
  Refusal check_range(const RowNumbers& row, const TraceJob& job) const;
  std::optional<LeftOut> reason_to_leave_out(const RowNumbers& row, const TraceJob& job) const;
  Refusal check_order(const TraceJob& job) const;
  Refusal settle_duration(const RowNumbers& row, TraceJob& job) const;
  Refusal time_steps(const RowNumbers& row, TraceJob& job) const;
  Refusal set_duration(double seconds, double each, TraceJob& job) const;
  void count(const RowNumbers& row, const TraceJob& job, std::string_view submit_text);

  const FormatSpec& format_;
  const Columns columns_;
  const TraceFacts facts_;
  const Trace& trace_;
  const std::optional<std::size_t> id_column_, submit_column_;
  NumberReader numbers_;
  NameReader names_;
  Tally tally_;
  std::optional<Instant> earliest_, latest_;  // Submissions so far.
  std::string first_date_;
};

}  // namespace muster
