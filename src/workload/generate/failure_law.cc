#include "workload/generate/failure_law.h"

#include <algorithm>
#include <numeric>

#include "base/types/check.h"

namespace muster {

namespace {

constexpr std::size_t kMaxCells = 64;
constexpr int kRounds = 40;            // Iterations of the calibration.
constexpr double kMaxFailing = 0.95;   // Maximum share of failing jobs in one cell.
constexpr double kNormalP90 = 1.2816;  // P90 of the standard normal distribution.
constexpr double kMinSigma = 0.2;
constexpr double kMinWidth = 0.02;  // Minimum width of a cell, in logarithms of seconds.
constexpr double kMinDensity = 1e-9;

double log_seconds(Duration run_time) { return portable_log(std::max(0.5, run_time.in_seconds())); }

// Returns the density of the logarithm of the total run time of all attempts, up to a constant.
double density(const ReasonInfo& info, double log_run_time) {
  const double sigma = std::max(kMinSigma, portable_log(info.p90 / info.p50) / kNormalP90);
  const double z = (log_run_time - portable_log(60 * info.p50 * tries_of(info))) / sigma;
  return std::max(kMinDensity, portable_exp(-std::min(z * z / 2, 100.0)) / sigma);
}

// Returns the share of jobs (not attempts) that fail for each reason. A preemption never ends a
// job, so its share is 0.
std::array<double, kReasonCount> wanted_of(SizeClass size, double failing) {
  std::array<double, kReasonCount> wanted = {};
  for (const ReasonInfo& info : reasons()) {
    if (info.nature == RetryClass::kScheduler) continue;
    const double trials = info.trials_by_size[static_cast<std::size_t>(size)];
    wanted[static_cast<std::size_t>(info.reason)] = trials / tries_of(info);
  }
  const double sum = std::accumulate(wanted.begin(), wanted.end(), 0.0);
  for (double& part : wanted) part *= failing / sum;
  return wanted;
}

}  // namespace

double tries_of(const ReasonInfo& info) {
  return static_cast<double>(info.trials) / static_cast<double>(info.jobs);
}

FailureLaw::FailureLaw(SizeClass size, double failing, std::span<const Duration> ascending)
    : jobs_(ascending.size()), cells_(std::min(kMaxCells, ascending.size())) {
  MUSTER_CHECK(jobs_ > 0);
  MUSTER_CHECK(failing >= 0 && failing <= 0.9);
  const Weights wanted = wanted_of(size, failing);
  weigh(wanted, ascending);
  calibrate(wanted);
}

// Computes the share of jobs with these run times that fail for each reason, by Bayes' theorem. All
// cells have the same number of jobs. In a wide cell jobs are rare, so more of them are failures.
void FailureLaw::weigh(const Weights& wanted, std::span<const Duration> ascending) {
  const std::size_t count = cells_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double low = log_seconds(ascending[i * jobs_ / count]);
    const double high = log_seconds(ascending[std::min(jobs_ - 1, (i + 1) * jobs_ / count)]);
    const double width = std::max(kMinWidth, high - low);
    for (const ReasonInfo& info : reasons()) {
      const auto row = static_cast<std::size_t>(info.reason);
      cells_[i][row] = wanted[row] * density(info, (low + high) / 2) * width;
    }
  }
}

// The trace may not have all run times of the table: few jobs last only seconds. So this scales
// each reason to the wanted frequency, with at most kMaxFailing of the jobs of a cell failing.
void FailureLaw::calibrate(const Weights& wanted) {
  for (int round = 0; round < kRounds; ++round) {
    Weights mean = {};
    for (Weights& cell : cells_) {
      const double sum = std::accumulate(cell.begin(), cell.end(), 0.0);
      const double factor = sum > kMaxFailing ? kMaxFailing / sum : 1;
      for (std::size_t row = 0; row < kReasonCount; ++row) {
        cell[row] *= factor;
        mean[row] += cell[row] / static_cast<double>(cells_.size());
      }
    }
    if (round + 1 == kRounds) return;
    for (Weights& cell : cells_) {
      for (std::size_t row = 0; row < kReasonCount; ++row) {
        if (mean[row] > 0) cell[row] *= wanted[row] / mean[row];
      }
    }
  }
}

std::optional<Reason> FailureLaw::draw(std::size_t position, Random& random) const {
  MUSTER_CHECK(position < jobs_);
  const Weights& cell = cells_[position * cells_.size() / jobs_];
  double left = random.uniform();
  for (std::size_t row = 0; row < kReasonCount; ++row) {
    if (left < cell[row]) return static_cast<Reason>(row);
    left -= cell[row];
  }
  return std::nullopt;
}

}  // namespace muster
