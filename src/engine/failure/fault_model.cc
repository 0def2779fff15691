#include "engine/failure/fault_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "base/types/digest.h"

namespace muster {

namespace {

constexpr double kNormalP90 = 1.2816;  // In standard deviations above the mean.
constexpr double kNormalP95 = 1.6449;
constexpr double kMaxZ = 1.95;
constexpr double kMaxRate = 10;
constexpr int kTries = 4;  // Attempts in the calibration: one and three retries.
constexpr double kOneGpu = 0.76;
constexpr double kEachDoubling = 0.15;

// killed_share() of short and of long jobs, and their run times in seconds.
constexpr double kKilledShort = 0.13;
constexpr double kKilledLong = 0.55;
constexpr double kShort = 3600;
constexpr double kLong = 86'400;

// Random streams of one job. Results of a seed depend on these numbers.
constexpr std::uint64_t kDoom = 1;
constexpr std::uint64_t kPassing = 2;
constexpr std::uint64_t kKilling = 3;

// Returns how many quarters of the trials of a reason belong to doomed jobs.
std::int64_t dooming_quarters(RetryClass nature) {
  if (nature == RetryClass::kDeterministic) return 4;
  return nature == RetryClass::kSuspect ? 3 : 0;
}

InjectedFailure draw(std::span<const std::int64_t> weights, std::int64_t sum, Random& random) {
  auto left = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(sum)));
  std::size_t row = 0;
  while (left >= weights[row]) left -= weights[row++];
  InjectedFailure trouble;
  trouble.reason = static_cast<Reason>(row);
  trouble.after = time_to_failure(trouble.reason, random.normal());
  return trouble;
}

}  // namespace

MaybeError check_options(const FaultOptions& options) {
  if (options.rate >= 0 && options.rate <= kMaxRate) return std::nullopt;
  return Error{fmt::format("faults: the rate is not between 0 and 10: '{}'", options.rate)};
}

EvidenceGrade grade_of(const InjectedFailure& failure) {
  return info_of(failure.reason).points_at_node() ? EvidenceGrade::kMeasured
                                                  : EvidenceGrade::kReported;
}

Duration time_to_failure(Reason reason, double z) {
  const ReasonInfo& info = info_of(reason);
  double log_minutes = portable_log(info.p90) + std::min(z - kNormalP90, 0.0) / kNormalP90 *
                                                    portable_log(info.p90 / info.p50);
  const double above = std::clamp(z, kNormalP90, kMaxZ) - kNormalP90;
  log_minutes += above / (kNormalP95 - kNormalP90) * portable_log(info.p95 / info.p90);
  const double micros = 60e6 * portable_exp(std::max(log_minutes, -100.0));
  return Duration::micros(std::clamp<std::int64_t>(std::llround(micros), 1, kLongestDuration.us()));
}

double killed_share(Duration run_time) {
  const double seconds = std::clamp(run_time.in_seconds(), kShort, kLong);
  const double slope = portable_log(seconds / kShort) / portable_log(kLong / kShort);
  return kKilledShort + slope * (kKilledLong - kKilledShort);
}

FaultModel::FaultModel(FaultOptions options, std::uint64_t seed) : options_(options), seed_(seed) {
  MUSTER_CHECK(!check_options(options));
  for (std::size_t size = 0; size < kSizeClassCount; ++size) {
    Column& column = columns_[size];
    for (std::size_t row = 0; row < kReasonCount; ++row) {
      const ReasonInfo& info = reasons()[row];
      if (info.nature == RetryClass::kScheduler) continue;
      const std::int64_t trials = info.trials_by_size[size];
      column.dooming[row] = trials * dooming_quarters(info.nature);
      column.passing[row] = 4 * trials - column.dooming[row];
      column.dooming_sum += column.dooming[row];
      column.passing_sum += column.passing[row];
    }
  }
}

const FaultModel::Column& FaultModel::column(std::int32_t gpus) const {
  return columns_[static_cast<std::size_t>(size_class(gpus))];
}

double FaultModel::failures(std::int32_t gpus) const {
  // Rounds up to whole doublings. A smooth curve would doom a smaller fraction of the jobs on 5
  // GPUs than on 4, because another column starts there.
  const auto doublings = static_cast<int>(std::bit_width(static_cast<std::uint32_t>(gpus - 1)));
  return options_.rate * (kOneGpu + kEachDoubling * doublings);
}

double FaultModel::doomed(std::int32_t gpus) const {
  const Column& of = column(gpus);
  const double share =
      static_cast<double>(of.dooming_sum) / static_cast<double>(of.dooming_sum + of.passing_sum);
  return std::min(1.0, failures(gpus) * share / kTries);
}

double FaultModel::passing(std::int32_t gpus) const {
  const double spared = 1 - doomed(gpus);
  if (spared <= 0) return 1;
  const Column& of = column(gpus);
  const double share =
      static_cast<double>(of.passing_sum) / static_cast<double>(of.dooming_sum + of.passing_sum);
  return 1 - portable_exp(-failures(gpus) * share / spared);
}

Random FaultModel::stream(std::uint64_t purpose, JobId job, int attempt) const {
  Digest digest;
  digest.add(seed_);
  digest.add("faults of a job");
  digest.add(purpose);
  digest.add(std::uint64_t{job.index()});
  digest.add(static_cast<std::uint64_t>(attempt));
  return Random(digest.value());
}

bool FaultModel::is_doomed(JobId job, std::int32_t gpus) const {
  return stream(kDoom, job, 0).uniform() < doomed(gpus);
}

std::optional<InjectedFailure> FaultModel::trouble(JobId job, std::int32_t gpus, int attempt,
                                                   Duration planned) const {
  MUSTER_CHECK(attempt >= 0);
  const Column& of = column(gpus);
  Random fate = stream(kDoom, job, 0);
  if (fate.uniform() < doomed(gpus)) {
    InjectedFailure fault = draw(of.dooming, of.dooming_sum, fate);
    fault.sticky = true;
    return fault;
  }
  Random chance = stream(kPassing, job, attempt);
  if (chance.uniform() >= passing(gpus)) return std::nullopt;
  const InjectedFailure failure = draw(of.passing, of.passing_sum, chance);
  if (failure.after < planned) return failure;
  // Only the first attempt lengthens the job: a retry starts at a checkpoint and has less to do.
  if (attempt > 0 || is_killed(job, gpus, planned)) return std::nullopt;
  return failure;
}

Duration FaultModel::run_time(JobId job, std::int32_t gpus, Duration planned) const {
  const std::optional<InjectedFailure> first = trouble(job, gpus, 0, planned);
  return first ? std::max(planned, first->after) : planned;
}

bool FaultModel::is_killed(JobId job, std::int32_t gpus, Duration planned) const {
  if (stream(kKilling, job, 0).uniform() >= options_.rate * killed_share(planned)) return false;
  return !is_doomed(job, gpus);
}

}  // namespace muster
