#pragma once

// How busy GPUs, CPUs and memory were, minute by minute, as histograms. Plain data that
// philly_use.h fills in.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workload/history/history.h"

namespace muster {

inline constexpr std::size_t kUseBins = 101;
inline constexpr std::int64_t kPercent = 1'000'000;  // Uses are in millionths of a percent.

struct UseHistogram {
  std::array<std::uint64_t, kUseBins> minutes = {};  // Bin i: i percent to below i + 1.
  std::int64_t sum = 0;                              // Of all uses, in millionths of a percent.

  void add(std::int64_t use) {
    ++minutes[static_cast<std::size_t>(use / kPercent)];
    sum += use;
  }
  void add(const UseHistogram& other);
  std::uint64_t count() const;
  double mean() const;  // In percent; NaN without any.
  // The bin, in percent, below which a share p of the minutes lies, 0 <= p <= 1; NaN without any.
  double quantile(double p) const;
};

// GPU minutes of all attempts alike in these four ways; a question adds up the cells it asks for.
struct UseCell {
  std::int32_t gpus = 0;  // Of the job.
  std::int32_t servers = 0;
  Status status = Status::kUnknown;  // Of the job.
  bool dedicated = false;  // Had all the GPUs of its servers, as far as the log shows them.
  UseHistogram use;
};

struct JobUse {
  std::int64_t sum = 0;  // In millionths of a percent.
  std::int64_t gpu_minutes = 0;
};

struct UseStudy {
  std::vector<UseCell> gpus;         // Ascending by gpus, servers, status, dedicated.
  UseHistogram unheld;               // GPUs that no attempt held, as far as the log tells.
  std::vector<JobUse> jobs;          // In the order of History::jobs.
  UseHistogram cpu;                  // Server minutes.
  UseHistogram memory;               // Server minutes; what is not free counts as used.
  Instant first = Instant::never();  // Minutes of GPUs, from the first to the last.
  Instant last;
  std::vector<std::string> notes;

  bool any() const { return !gpus.empty() || cpu.count() > 0 || memory.count() > 0; }

  // The cells that keep(cell) is true of, together.
  template <class Keep>
  UseHistogram where(Keep keep) const {
    UseHistogram all;
    for (const UseCell& cell : gpus) {
      if (keep(cell)) all.add(cell.use);
    }
    return all;
  }
};

}  // namespace muster
