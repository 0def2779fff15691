#include "workload/generate/failure_law.h"

#include <algorithm>
#include <numeric>

#include "base/types/check.h"

namespace muster {

namespace {

constexpr std::size_t kMostCells = 64;
constexpr int kRounds = 40;            // Of the calibration.
constexpr double kMostFailing = 0.95;  // In one cell.
constexpr double kNormalP90 = 1.2816;  // So many standard deviations above the mean.
constexpr double kLeastSigma = 0.2;
constexpr double kLeastWidth = 0.02;  // Of a cell whose jobs run equally long; in logarithms.
constexpr double kLeastDensity = 1e-9;

double log_seconds(Duration run_time) { return portable_log(std::max(0.5, run_time.in_seconds())); }

// Of the logarithm of all attempts' run time together, but for a constant factor.
double density(const ReasonInfo& info, double log_run_time) {
  const double sigma = std::max(kLeastSigma, portable_log(info.p90 / info.p50) / kNormalP90);
  const double z = (log_run_time - portable_log(60 * info.p50 * tries_of(info))) / sigma;
  return std::max(kLeastDensity, portable_exp(-std::min(z * z / 2, 100.0)) / sigma);
}

// The jobs, not the attempts, that failed of each reason, as parts of all jobs. A preemption is
// never the end of a job.
std::array<double, kReasonCount> wanted_of(SizeClass size, double failing) {
  std::array<double, kReasonCount> wanted = {};
  for (const ReasonInfo& info : reasons()) {
    if (info.nature == Nature::kScheduler) continue;
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
    : jobs_(ascending.size()), cells_(std::min(kMostCells, ascending.size())) {
  MUSTER_CHECK(jobs_ > 0);
  MUSTER_CHECK(failing >= 0 && failing <= 0.9);
  const Weights wanted = wanted_of(size, failing);
  weigh(wanted, ascending);
  calibrate(wanted);
}

// By Bayes: of the jobs with such run times, those that failed of the reason. All cells have
// equally many jobs, so where they are wide, jobs are rare and failures the greater part of them.
void FailureLaw::weigh(const Weights& wanted, std::span<const Duration> ascending) {
  const std::size_t count = cells_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double low = log_seconds(ascending[i * jobs_ / count]);
    const double high = log_seconds(ascending[std::min(jobs_ - 1, (i + 1) * jobs_ / count)]);
    const double width = std::max(kLeastWidth, high - low);
    for (const ReasonInfo& info : reasons()) {
      const auto row = static_cast<std::size_t>(info.reason);
      cells_[i][row] = wanted[row] * density(info, (low + high) / 2) * width;
    }
  }
}

// Some run times that the table has are not to be had: few jobs of a trace last seconds. So each
// reason is scaled until it is as frequent as wanted, while in no cell more fail than there are.
void FailureLaw::calibrate(const Weights& wanted) {
  for (int round = 0; round < kRounds; ++round) {
    Weights mean = {};
    for (Weights& cell : cells_) {
      const double sum = std::accumulate(cell.begin(), cell.end(), 0.0);
      const double factor = sum > kMostFailing ? kMostFailing / sum : 1;
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
