#pragma once

// Histograms of the utilization of GPUs, CPUs and memory per minute. philly_use.h fills them in
// from files, and use_model.h in src/study/analyze for simulations; src/study/analyze evaluates
// them.

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
  std::int64_t sum = 0;                              // Sum of all uses, in millionths of a percent.

  void add(std::int64_t use) {
    ++minutes[static_cast<std::size_t>(use / kPercent)];
    sum += use;
  }
  void add(const UseHistogram& other);
  std::uint64_t count() const;
  double mean() const;  // In percent; NaN if empty.
  // Returns the bin, in percent, that contains quantile p (0 <= p <= 1); NaN if empty.
  double quantile(double p) const;
};

// GPU minutes of all attempts with the same four properties. UseStudy::where() adds up cells.
struct UseCell {
  std::int32_t gpus = 0;             // GPUs of the job.
  std::int32_t nodes = 0;            // Nodes of the attempt.
  Status status = Status::kUnknown;  // Status of the job.
  bool dedicated = false;            // Had all GPUs of its nodes that appear in the log.
  UseHistogram use;
};

struct JobUse {
  std::int64_t sum = 0;  // In millionths of a percent.
  std::int64_t gpu_minutes = 0;
};

// Rows of UseStudy::pairs: on one node; on two nodes alone, next to other jobs, and next to others
// on several nodes. The study made a test with these placements.
inline constexpr std::size_t kPairRows = 4;

struct UseStudy {
  std::vector<UseCell> gpus;                  // Ascending by gpus, servers, status, dedicated.
  std::array<UseHistogram, kPairRows> pairs;  // Jobs with 2 GPUs, only if modeled.
  bool modeled = false;      // The utilization of GPUs comes from a model and was not measured.
  UseHistogram unheld;       // GPUs that no attempt in the log held.
  std::vector<JobUse> jobs;  // In the order of History::jobs.
  UseHistogram cpu;          // One value per node and minute.
  UseHistogram memory;       // One value per node and minute; used means not free.
  Instant first = Instant::never();  // First minute with GPU data.
  Instant last;                      // Last minute with GPU data.
  std::vector<std::string> notes;

  bool any() const { return !gpus.empty() || cpu.count() > 0 || memory.count() > 0; }

  // Returns the sum of the cells for which keep(cell) is true.
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
