#pragma once

// The inputs of the roster: everything that happened, at the level of submitted jobs. The list is
// closed; input_codec.h writes the inputs to the journal.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/types/time.h"
#include "base/types/uid.h"
#include "engine/failure/failure_evidence.h"
#include "engine/model/job_request.h"
#include "engine/model/resources.h"

namespace muster {

// The user-visible job id: 1, 2, 3, ..., never reused. The engine's JobId is different and valid
// only within one engine.
using LiveId = std::uint64_t;

struct SubmitInput {
  LiveId id = 0;
  std::string user;
  std::uint32_t uid = kNoUid;  // Identity of the user; kNoUid in journals of earlier versions.
  std::string tenant;          // Empty: kDefaultTenant.
  JobRequest request;          // Without `array`; dependencies only on active jobs.
  LiveId array = 0;            // Id of the array's first job; 0: not in an array.
  std::int32_t index = 0;      // Index in the array.
  std::int32_t at_once = 0;    // Maximum concurrent jobs of the array; 0: no limit.
  std::string text;            // request_json(request) if already computed; may be empty.
};
struct CancelInput {
  LiveId id = 0;
  std::string by;
};
struct HoldInput {
  LiveId id = 0;
};
struct ReleaseInput {
  LiveId id = 0;
};
struct DrainInput {
  std::string node;
  bool open = false;  // True: ends the drain, and also a quarantine.
  // End of the maintenance: the roster ends the drain at this time. never(): it has no end.
  Instant until = Instant::never();
};
struct NodeTestInput {  // Result of the test of a quarantined node.
  std::string node;
  bool ok = false;
  std::string words;  // Reason of the failure.
};

// Measured evidence that a node is faulty, from the hardware or the kernel; never from a job.
struct NodeEvidenceInput {
  std::string node;
  std::string what;  // Human-readable: "Xid 79".
};

// Outcome of a lease, for all its nodes together.
enum class LeaseResult : std::uint8_t {
  kFinished,
  kStopped,    // By order; work is kept as far as the job saved it.
  kFailed,     // The job failed; see `reason` and `words`.
  kTimeLimit,  // It reached its time limit.
  kLost,       // Its shim died: no process is left, and the outcome is unknown.
};
struct LeaseUpInput {
  LiveId id = 0;
  std::uint32_t lease = 0;
  std::string isolation;  // As reported by the shim; human-readable.
};
struct LeaseOverInput {
  LiveId id = 0;
  std::uint32_t lease = 0;
  LeaseResult fate = LeaseResult::kFinished;
  std::string reason;        // A key of engine/failure/reasons.h; only for kFailed.
  std::string words;         // One human-readable line.
  std::int64_t ran_ms = -1;  // By the shim's monotonic clock; -1: unknown.
  std::int64_t cpu_ms = 0;
  std::int64_t mem_peak_mib = 0;
  FailureEvidence proof = {};  // Only for kFailed.
};
struct SavedInput {  // The job has reported a checkpoint.
  LiveId id = 0;
  std::uint32_t lease = 0;
};
// Summary of the job's progress reports, sent when it changes; see docs/adr/0017.
struct ReportInput {
  LiveId id = 0;
  std::uint32_t lease = 0;
  // Predicted remaining run time at the pace of this lease; -1: unknown.
  std::int64_t left_ms = -1;
  struct Speed {
    double steps = 0;   // Total steps done, as counted by the job.
    double rate = 0;    // Steps per second in this lease.
    double passes = 0;  // Total training epochs done.
    double loss = 0;    // Zero: not reported.
    friend bool operator==(const Speed&, const Speed&) = default;
  };
  std::optional<Speed> speed = {};
};
struct ProfiledInput {  // Result of measuring the job's speed; human-readable.
  LiveId id = 0;
  std::string kind;  // Kind of the event.
  std::string words;
};
// State of a node as reported by the executor, sent when it changes.
struct NodeStateInput {
  std::string node;
  bool usable = true;  // Jobs may run there.
  std::string why;     // Human-readable reason if not usable.
  Resources taken;     // Used there by external jobs.
};
// Reason why a lease is delayed or was handled differently than ordered; human-readable.
struct LeaseNoteInput {
  LiveId id = 0;
  std::uint32_t lease = 0;
  std::string words;
};
struct TickInput {};  // The wake-up time that the roster requested.

using Input =
    std::variant<SubmitInput, CancelInput, HoldInput, ReleaseInput, DrainInput, NodeTestInput,
                 LeaseUpInput, LeaseOverInput, SavedInput, ReportInput, ProfiledInput,
                 NodeStateInput, NodeEvidenceInput, LeaseNoteInput, TickInput>;

std::string_view fate_name(LeaseResult fate);
std::optional<LeaseResult> find_fate(std::string_view name);

}  // namespace muster
