#pragma once

// Draws the outcomes of the jobs of a workload: a status and attempts for each job, as in the log
// of a cluster, based on the published statistics of Philly. Traces do not contain outcomes, and
// simulations do not use them. They are for tools that learn from logs, and for comparing a retry
// policy with a log. `muster trace generate --outcomes` writes them.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/time.h"
#include "engine/failure/reasons.h"
#include "workload/trace/trace.h"

namespace muster {

enum class PastStatus : std::uint8_t {
  kPassed,
  kKilled,  // By its user.
  kFailed,  // All attempts failed.
};
std::string_view name_of(PastStatus status);

struct PastAttempt {
  Duration run_time;
  std::optional<Reason> failed_of;  // Empty for the last attempt of a job that did not fail.

  friend bool operator==(const PastAttempt&, const PastAttempt&) = default;
};

struct PastOutcome {
  PastStatus status = PastStatus::kPassed;
  std::vector<PastAttempt> attempts;  // At least one. Run times add up to the job's duration.

  friend bool operator==(const PastOutcome&, const PastOutcome&) = default;
};

// Returns one outcome per job. With Philly's sizes, 17.2% of the jobs fail and 13.5% are killed;
// long jobs more often. The reason depends on the size and duration of the job. Reasons have about
// the frequency and the time to failure of the table of reasons, as far as the durations of the
// jobs allow it. The same trace and seed give the same result.
std::vector<PastOutcome> draw_past(const Trace& trace, std::uint64_t seed);

// Returns CSV with job_id,status,attempts,run_s,reasons. run_s has one value per attempt and
// reasons one per failed attempt, separated by semicolons.
std::string write_past_csv(const Trace& trace, std::span<const PastOutcome> past);

}  // namespace muster
