#pragma once

// Random failures of simulated jobs, drawn from the table of reasons. The driver calls trouble()
// once per attempt. The result is a pure function of the seed, the job, its size, its run time and
// the number of the attempt. So a job has the same failures under every scheduler and retry policy,
// and two policies can be compared job by job.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/types/id.h"
#include "base/types/random.h"
#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/failure/reasons.h"

namespace muster {

struct FaultOptions {
  double rate = 1;  // 0: no failures; 1: as often as in the table; 2: twice as often.
};
// Returns an error if the rate is not between 0 and 10.
MaybeError check_options(const FaultOptions& options);

struct InjectedFailure {
  Reason reason = Reason::kNoSignature;
  Duration after;       // Run time of the attempt until it fails; at least 1 us.
  bool sticky = false;  // A fault of the job: every attempt fails like this, at the same time.

  friend bool operator==(const InjectedFailure&, const InjectedFailure&) = default;
};

// Draws failures. A doomed job has a permanent fault: every attempt fails in the same way after the
// same run time. Each attempt of another job may have a passing failure, drawn independently. The
// reasons come from the column of the table for the size of the job. Deterministic reasons are
// always permanent, passing and server reasons never, and suspect reasons in three of four cases.
// (This is a guess: jobs with suspect reasons fail 2.07 times each in the table, nearly as often as
// those with deterministic reasons, 2.38.) Preemption is never drawn, because the scheduler causes
// it.
//
// Rates. F(g) = 1 + 0.3 d is the rate of failures on g GPUs, where d is log2(g) rounded up. S is
// the fraction of the trials in the column that are permanent (0.90, 0.81 and 0.73 by size). With
// three retries a doomed job fails four times, so F S / 4 of the jobs are doomed: 23% on one GPU,
// 33% on 4, 35% on 8, 56% on 128. The others have F (1 - S) passing failures on average: an attempt
// fails with odds of F (1 - S) to 1.
// A failure after the end of the job does not happen. Take log-normal run times around 20 minutes
// (sigma 2), with 76% of jobs on one GPU, 2% on 2, 9% on 4 and 12.5% on 8. Then 17% of jobs are
// unsuccessful after three retries (Philly: 17.2%). Jobs of two or more GPUs have 1.06 failed
// attempts each (Philly: "an average of one"). Longer jobs fail more often.
class FaultModel {
 public:
  FaultModel(FaultOptions options, std::uint64_t seed);

  // Returns the failure of an attempt, or nullopt if it succeeds. Attempts count from 0. A
  // preempted job resumes the same attempt; only a failure starts another. `run_time` is the total
  // run time of the job, even if the attempt starts at a checkpoint, so that the result does not
  // depend on scheduling.
  std::optional<InjectedFailure> trouble(JobId job, std::int32_t gpus, int attempt,
                                         Duration run_time = Duration::max()) const;

  // The probability that a job of this size is doomed, and that an attempt of another job fails,
  // for unlimited run times. Both grow with each doubling of the size, until all jobs are doomed.
  double doomed(std::int32_t gpus) const;
  double passing(std::int32_t gpus) const;

 private:
  struct Column {
    std::array<std::int64_t, kReasonCount> dooming = {};  // Weights, in quarters of trials.
    std::array<std::int64_t, kReasonCount> passing = {};
    std::int64_t dooming_sum = 0;
    std::int64_t passing_sum = 0;
  };
  const Column& column(std::int32_t gpus) const;
  double failures(std::int32_t gpus) const;  // F(g) times the rate.
  Random stream(std::uint64_t purpose, JobId job, int attempt) const;

  FaultOptions options_;
  std::uint64_t seed_;
  std::array<Column, kSizeClassCount> columns_;
};

// Returns the run time to failure that is `z` standard deviations above the median. The
// distribution is log-normal, with the p50 and p90 of the table. At most kLongestDuration.
Duration time_to_failure(Reason reason, double z);

}  // namespace muster
