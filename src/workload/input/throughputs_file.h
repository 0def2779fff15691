#pragma once

// How fast models train, in steps a second by batch size and number of GPUs: what turns the steps
// of a trace that gives no run times into time (docs/formats.md, "Throughputs").

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

inline constexpr std::size_t kMostThroughputs = 1'000'000;

struct Throughput {
  double steps_per_second = 0;  // Above zero.
  std::int64_t steps = 0;       // Of a whole job, where the file says so; otherwise zero.
};

class ThroughputTable {
 public:
  // A batch size of zero: the model has only one. False when there is an entry already.
  bool add(std::string model, std::int64_t batch, std::int64_t gpus, Throughput throughput);
  std::optional<Throughput> find(std::string_view model, std::int64_t batch,
                                 std::int64_t gpus) const;
  std::vector<std::string_view> models() const;  // Ascending, each once.
  // "64 on 1", "64 on 2": the batch sizes and GPUs of a model, for messages.
  std::vector<std::string> entries_of(std::string_view model) const;
  std::size_t size() const { return size_; }

 private:
  using OfModel =
      std::map<std::pair<std::int64_t, std::int64_t>, Throughput>;  // By batch and GPUs.
  std::map<std::string, OfModel, std::less<>> models_;
  std::size_t size_ = 0;
};

// Called once, before the trace is read. Refuses the whole file at the first thing wrong in it, in
// one line that names the file, line and culprit.
Result<ThroughputTable> read_throughputs(const std::string& path);

// The same from memory; `name` stands for the path in messages.
Result<ThroughputTable> parse_throughputs(std::string_view text, const std::string& name);

}  // namespace muster
