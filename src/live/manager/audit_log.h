#pragma once

// The audit (GET /v1/audit): who changed what, which callers were refused, and who looked at
// another user's output. The row of a change goes into the journal with the change, in one
// transaction. All other rows wait here for the next commit, at most a second. Refusals are
// limited, so that a flood of them costs little: 10 rows per minute and caller, and 100 users and
// 50 addresses without a user per minute. A further row has the number of dropped rows.
//
// Threads: add() from any thread, the rest on the manager thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/port/service.h"
#include "base/types/time.h"
#include "live/config/state_directory.h"
#include "live/store/journal.h"
#include "live/views/command_outcome.h"

namespace muster {

// Returns a row with the caller, the call and its object. The text of an answer is shortened, and
// probable secrets are hidden.
AuditRow audit_row(Instant at, const Caller& caller, const Call& call);
AuditRow audit_row(Instant at, const ServerAct& act);
void set_answer(AuditRow& row, int status, const std::string& text);
void set_refusal(AuditRow& row, const Answer& answer);  // REQUIRES: an error as JSON.
// Sets the owner of the job and returns true, unless the caller is the owner.
bool set_owner(AuditRow& row, const JobOwner& owner);
// Sets the object, the owner and the answer of a change.
void set_outcome(AuditRow& row, const CommandOutcome& outcome, int status);

class AuditLog {
 public:
  static constexpr int kRefusalsPerCaller = 10;  // Per minute.
  // Per minute; the others share one limit. One process can have many addresses, so these have
  // their own limit.
  static constexpr std::size_t kMaxUsers = 100;
  static constexpr std::size_t kMaxAddresses = 50;
  static constexpr std::size_t kMaxWaitingRows = 2'000;

  explicit AuditLog(const LiveClock& clock) : clock_(clock) {}

  Instant now() const { return clock_.now(); }
  // Adds the row of a decision without a transaction. Rows with a status of 400 or more are
  // refusals. Returns true if the manager thread should look at due().
  bool add(AuditRow row);
  // Adds a look at another user's output; one row per caller and job in ten minutes.
  bool add_look(AuditRow row);

  Instant due() const;  // When rows must be written; far in the future if there are none.
  // Moves the waiting rows to the journal's buffer. `all`: also the counts of this minute.
  void move_to(Journal& journal, bool all = false);

 private:
  struct Window {  // The refusals of a caller within a minute.
    Instant begin;
    int rows = 0;
    AuditRow dropped;  // Has the caller and the number of dropped rows.
  };

  bool push(AuditRow row);
  std::string window_key(const AuditRow& row);
  void end_windows(Instant now, bool all);

  LiveClock clock_;
  mutable std::mutex mutex_;
  std::vector<AuditRow> waiting_;  // This and the following members: guarded by mutex_.
  std::map<std::string, Window> windows_;
  std::map<std::pair<std::string, std::uint64_t>, Instant> looks_;  // By caller and job.
  std::uint64_t lost_ = 0;  // Rows dropped since the last move, because too many waited.
};

}  // namespace muster
