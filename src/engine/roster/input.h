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
#include "engine/failure/proof.h"
#include "engine/model/job_request.h"
#include "engine/model/resources.h"

namespace muster {

// As people know a job: 1, 2, 3... for ever. The engine's JobId is another, of one engine alone.
using LiveId = std::uint64_t;

struct SubmitInput {
  LiveId id = 0;
  std::string user;
  std::string tenant;      // Empty: whoever has jobs that name nobody.
  JobRequest request;      // Without `array`; dependencies only on jobs that are not over.
  LiveId array = 0;        // The first job of its array; 0: of none.
  std::int32_t index = 0;  // In the array.
  std::int32_t at_once = 0;
  std::string text;  // request_json(request), if somebody has written it already.
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
  bool open = false;  // True: the drain is over, and so is a quarantine.
};
struct NodeTestInput {  // What became of the test of a server in quarantine.
  std::string node;
  bool ok = false;
  std::string words;  // How it failed.
};

// What became of a lease, all its servers together.
enum class LeaseFate : std::uint8_t {
  kFinished,
  kStopped,    // By order; its work is saved as far as the job saved it.
  kFailed,     // By itself; see `reason` and `words`.
  kTimeLimit,  // Its time was up.
  kLost,       // Its shim died: nothing of it is left, and nobody knows more.
};
struct LeaseUpInput {
  LiveId id = 0;
  std::uint32_t lease = 0;
  std::string isolation;  // As the shim says; for people.
};
struct LeaseOverInput {
  LiveId id = 0;
  std::uint32_t lease = 0;
  LeaseFate fate = LeaseFate::kFinished;
  std::string reason;        // A key of engine/failure/reasons.h; only of kFailed.
  std::string words;         // One line for a person.
  std::int64_t ran_ms = -1;  // By the shim's clock, which knows no jumps; -1: nobody can tell.
  std::int64_t cpu_ms = 0;
  std::int64_t mem_peak_mib = 0;
  Proof proof = {};  // Of kFailed.
};
struct SavedInput {  // The job says that its work is saved.
  LiveId id = 0;
  std::uint32_t lease = 0;
};
// What the job's own reports come to, when that is news; see docs/adr/0017.
struct ReportInput {
  LiveId id = 0;
  std::uint32_t lease = 0;
  std::int64_t left_ms = -1;  // So much longer it would run, as it does in this lease; -1: unknown.
  struct Speed {
    double steps = 0;   // Done in all, as the job counts them.
    double rate = 0;    // Of them a second, in this lease.
    double passes = 0;  // Over its data, in all.
    double loss = 0;    // Zero when it says none.
    friend bool operator==(const Speed&, const Speed&) = default;
  };
  std::optional<Speed> speed = {};
};
struct ProfiledInput {  // What was found out about the job's speed; for people.
  LiveId id = 0;
  std::string kind;  // Of the event.
  std::string words;
};
// How a server is, as whoever runs leases there sees it: said when it changes.
struct NodeStateInput {
  std::string node;
  bool usable = true;  // It may be given jobs.
  std::string why;     // One line for people, if it may not.
  Resources taken;     // Held there by others, who are none of our jobs.
};
// What holds up a lease, or what was done about it in another way than was ordered; for people.
struct LeaseNoteInput {
  LiveId id = 0;
  std::uint32_t lease = 0;
  std::string words;
};
struct TickInput {};  // The time the roster asked for.

using Input = std::variant<SubmitInput, CancelInput, HoldInput, ReleaseInput, DrainInput,
                           NodeTestInput, LeaseUpInput, LeaseOverInput, SavedInput, ReportInput,
                           ProfiledInput, NodeStateInput, LeaseNoteInput, TickInput>;

std::string_view fate_name(LeaseFate fate);
std::optional<LeaseFate> find_fate(std::string_view name);

}  // namespace muster
