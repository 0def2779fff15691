#pragma once

// Reads throughput tables: steps per second by model, batch size and number of GPUs. They give the
// run times of traces that contain only steps (docs/reference/formats.md, "Throughputs").

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types/result.h"

namespace muster {

inline constexpr std::size_t kMaxThroughputs = 1'000'000;

struct Throughput {
  double steps_per_second = 0;  // Above zero.
  std::int64_t steps = 0;       // Steps of a whole job; zero: unknown.
};

class ThroughputTable {
 public:
  // Adds an entry; returns false if it exists already. A batch size of 0 means that the model has
  // only one.
  bool add(std::string model, std::int64_t batch, std::int64_t gpus, Throughput throughput);
  std::optional<Throughput> find(std::string_view model, std::int64_t batch,
                                 std::int64_t gpus) const;
  std::vector<std::string_view> models() const;  // Ascending, without duplicates.
  // Returns the entries of a model for messages, such as "batch size 64 on 1 GPU".
  std::vector<std::string> entries_of(std::string_view model) const;
  std::size_t size() const { return size_; }

 private:
  using OfModel =
      std::map<std::pair<std::int64_t, std::int64_t>, Throughput>;  // By batch and GPUs.
  std::map<std::string, OfModel, std::less<>> models_;
  std::size_t size_ = 0;
};

// Reads the file once, before the trace. Returns the first error in one line with file, line and
// value.
Result<ThroughputTable> read_throughputs(const std::string& path);

// Like read_throughputs(), from memory. `name` is used as the path in messages.
Result<ThroughputTable> parse_throughputs(std::string_view text, const std::string& name);

}  // namespace muster
