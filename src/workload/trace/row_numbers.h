#pragma once

// Reads the number columns of a row (times, GPUs, counts, states) and validates each one. RowReader
// decides whether the row is a job.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/model/topology.h"
#include "workload/trace/columns.h"
#include "workload/trace/format.h"

namespace muster {

inline constexpr std::int64_t kMaxJobGpus = std::int64_t{kMaxNodes} * kMaxGpusPerNode;

// Numbers of one row. A missing value leaves the default: empty, or as initialized here.
struct RowNumbers {
  std::optional<Duration> submit, start, end;  // On the clock of the file.
  std::optional<Duration> duration;
  Duration estimate;
  std::optional<std::int64_t> gpus, gpus_held;
  std::optional<double> gpu_parts;  // GPUs per instance; may be fractional.
  std::int64_t instances = 1;
  std::int64_t gpu_milli = 1000;  // Thousandths that the job needs of each GPU.
  std::int64_t fewest = 0;
  std::int64_t most = 0;
  std::int64_t iterations = 0;
  std::int64_t batch = 0;
  std::optional<std::size_t> state;  // Index in FormatSpec::states.
};

class NumberReader {
 public:
  // REQUIRES: both arguments outlive this object.
  NumberReader(const FormatSpec& format, const Columns& columns);

  // Fills in `row`. Errors name the column and the problem.
  // REQUIRES: there are as many cells as columns.
  MaybeError read(const std::vector<std::string_view>& cells, RowNumbers& row);

 private:
  bool may_lack(Field field) const;
  MaybeError read_cell(std::size_t column, std::string_view text, RowNumbers& row);
  MaybeError set_time(std::size_t column, std::string_view text, std::optional<Duration>& out);
  template <class Out>
  MaybeError set_seconds(std::size_t column, std::string_view text, Out& out) const;
  template <class Out>
  MaybeError set_count(std::size_t column, std::string_view text, std::int64_t most,
                       Out& out) const;
  MaybeError set_parts(std::size_t column, std::string_view text, double unit,
                       RowNumbers& row) const;
  MaybeError set_instances(std::size_t column, std::string_view text, RowNumbers& row) const;
  MaybeError set_state(std::size_t column, std::string_view text, RowNumbers& row) const;

  const FormatSpec& format_;
  const Columns& columns_;
  std::vector<std::size_t> places_;      // Indices of number columns.
  std::optional<bool> dates_have_zone_;  // From the first date of the file.
};

}  // namespace muster
