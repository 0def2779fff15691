#pragma once

// What the numbers of a row say: times, GPUs, counts and states, checked one by one. Whether the
// row is a job is for RowReader to judge.

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

inline constexpr std::int64_t kMostJobGpus = std::int64_t{kMostNodes} * kMostGpusPerNode;

// Empty or zero where the row does not say.
struct RowNumbers {
  std::optional<Duration> submit, start, end;  // On the file's own clock.
  std::optional<Duration> duration;
  Duration estimate;
  std::optional<std::int64_t> gpus, gpus_held;
  std::optional<double> gpu_parts;  // An instance.
  std::int64_t instances = 1;
  std::int64_t gpu_milli = 1000;  // Of each GPU.
  std::int64_t fewest = 0;
  std::int64_t most = 0;
  std::int64_t iterations = 0;
  std::int64_t batch = 0;
  std::optional<std::size_t> state;  // Place in the format's states.
};

class NumberReader {
 public:
  // Both must outlive it.
  NumberReader(const FormatSpec& format, const Columns& columns);

  // There are as many cells as columns. The errors say which column and what is wrong with it.
  Refusal read(const std::vector<std::string_view>& cells, RowNumbers& row);

 private:
  bool may_lack(Field field) const;
  Refusal read_cell(std::size_t column, std::string_view text, RowNumbers& row);
  Refusal set_time(std::size_t column, std::string_view text, std::optional<Duration>& out);
  template <class Out>
  Refusal set_seconds(std::size_t column, std::string_view text, Out& out) const;
  template <class Out>
  Refusal set_count(std::size_t column, std::string_view text, std::int64_t most, Out& out) const;
  Refusal set_parts(std::size_t column, std::string_view text, double unit, RowNumbers& row) const;
  Refusal set_instances(std::size_t column, std::string_view text, RowNumbers& row) const;
  Refusal set_state(std::size_t column, std::string_view text, RowNumbers& row) const;

  const FormatSpec& format_;
  const Columns& columns_;
  std::vector<std::size_t> places_;      // The columns that are numbers.
  std::optional<bool> dates_have_zone_;  // As the first date of the file.
};

}  // namespace muster
