#pragma once

// What goes wrong with jobs, drawn from the table of reasons. A driver asks once for each attempt
// of a job; the answer is a pure function of the seed, the job, its size, its run time and the
// number of the attempt. So a job has the same troubles under every scheduler and retry policy, in
// whatever order they are asked for, and two policies can be compared job by job.

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
  double rate = 1;  // 0 = nothing fails, 1 = as often as in the table, 2 = twice as often.
};
// Refuses a rate that is not between 0 and 10.
Refusal check_options(const FaultOptions& options);

struct Trouble {
  Reason reason = Reason::kNoSignature;
  Duration after;       // Run time of the attempt until it fails; at least a microsecond.
  bool sticky = false;  // Of the job, not of the attempt: every attempt fails so, and as late.

  friend bool operator==(const Trouble&, const Trouble&) = default;
};

// How it draws. A job is doomed, or not. A doomed one has one fault, which fails every attempt the
// same way after the same run time. Any attempt of another may fail in passing, by a draw of its
// own. The reasons of both come from the table's column for the size of the job: what no retry can
// fix only dooms, trouble of storage, network and servers only passes, and suspect reasons doom in
// three cases of four. (That is a guess: their jobs fail 2.07 times each in the table, nearly as
// often as those of deterministic reasons, 2.38.) Preemption is never drawn: it is the scheduler's.
//
// How often. Let F(g) = 1 + 0.3 d, where d is log2(g) rounded up, say how much fails on g GPUs, and
// S the part of the column's trials that dooms (0.90, 0.81 and 0.73 by size). With three retries a
// doomed job fails four times, so F S / 4 of the jobs are doomed: 23% on one GPU, 33% on 4, 35% on
// 8, 56% on 128. The others fail in passing F (1 - S) times on average: an attempt does with odds
// of that to one.
// Jobs do not run for ever: trouble that would come after the job's own end does not come. With run
// times log-normal around 20 minutes (sigma 2) and a mix of 76% on one GPU, 2% on 2, 9% on 4 and
// 12.5% on 8, that leaves 17% of jobs unsuccessful after three retries (Philly: 17.2%) and 1.06
// failed attempts a job of two GPUs or more (Philly: "an average of one"). Longer jobs fail more.
class FaultModel {
 public:
  FaultModel(FaultOptions options, std::uint64_t seed);

  // What happens to the attempt, the first being 0. A preempted job goes on with its attempt; only
  // a failure begins another. `run_time` is the job's whole run time, also where an attempt begins
  // at a checkpoint, so that whether the job fails does not depend on what was done to it.
  std::optional<Trouble> trouble(JobId job, std::int32_t gpus, int attempt,
                                 Duration run_time = Duration::max()) const;

  // The probability that a job of this size is doomed, and that an attempt of another fails, were
  // its run time unlimited. Both grow with each doubling of the size, until all are doomed.
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

// The run time to failure that is `z` standard deviations above the median: log-normal, with the
// p50 and p90 of the table. At most kLongestDuration.
Duration time_to_failure(Reason reason, double z);

}  // namespace muster
