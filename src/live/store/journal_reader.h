#pragma once

// A manager's whole journal, read only: the newest era and all rows, as they were at one instant,
// whatever the manager writes meanwhile. For those who look at its past; the manager itself, and
// who asks it about jobs, use Journal and JobReader.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/types/result.h"
#include "live/store/journal.h"
#include "live/store/rows.h"
#include "live/store/sqlite.h"

namespace muster {

class JournalReader {
 public:
  // Refuses in one line a file that is not there, is no journal, or is of another version. Keep it
  // for seconds only: while it is open, the manager's write-ahead log grows.
  static Result<JournalReader> open(const std::string& path);

  Result<std::optional<Snapshot>> newest_snapshot();
  // As Journal::for_each_from.
  Refusal for_each_from(std::uint64_t seq, const Journal::Visit& visit);
  // Only jobs with greater ids than `after`, and their attempts; until the visit says false.
  Refusal for_each_job(std::uint64_t after, const std::function<bool(JobRow&&)>& visit);  // By id.
  Refusal for_each_attempt(std::uint64_t after,
                           const std::function<bool(AttemptRow&&)>& visit);  // By job and number.

  // The greatest id of a job; 0: there is none. And how many there are up to one.
  Result<std::uint64_t> last_job();
  Result<std::uint64_t> jobs_up_to(std::uint64_t id);

 private:
  explicit JournalReader(Database database) : database_(std::move(database)) {}

  Database database_;
  Statement newest_, entries_, jobs_, attempts_, count_;
};

}  // namespace muster
