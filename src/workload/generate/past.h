#pragma once

// What became of the jobs of a workload when they were first run: a status and attempts for each,
// as a cluster's log would have them, drawn after what is published of Philly. A trace has no place
// for this, and a simulation has no use for it: there the scheduler decides anew. It is for tools
// that learn from logs, and for comparing a retry policy with what happened.

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
  kFailed,  // Every attempt did.
};
std::string_view name_of(PastStatus status);

struct PastAttempt {
  Duration run_time;
  std::optional<Reason> failed_of;  // Nothing: this was the last one, and the job did not fail.

  friend bool operator==(const PastAttempt&, const PastAttempt&) = default;
};

struct PastOutcome {
  PastStatus status = PastStatus::kPassed;
  std::vector<PastAttempt> attempts;  // At least one. Run times add up to the job's duration.

  friend bool operator==(const PastOutcome&, const PastOutcome&) = default;
};

// One for each job. Of a workload with Philly's sizes 17.2% fail and 13.5% are killed, the long
// ones more often. Which reason a failed job has depends on its size and its duration, so that
// reasons are as frequent as in the table of reasons and strike about as late, as far as there are
// jobs that run so long or so short.
std::vector<PastOutcome> draw_past(const Trace& trace, std::uint64_t seed);

// job_id,status,attempts,run_s,reasons; the last two with a part for each attempt, or failed one.
std::string write_past_csv(const Trace& trace, std::span<const PastOutcome> past);

}  // namespace muster
