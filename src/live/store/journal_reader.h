#pragma once

// Reads a whole journal: the newest era and all rows, as of one instant, even while the manager
// writes. For analyses of the past; the manager itself uses Journal and JobReader.

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
  // Errors: the file does not exist, is not a journal, or has another version. Close it within
  // seconds, because the manager's write-ahead log grows while it is open.
  static Result<JournalReader> open(const std::string& path);

  Result<std::optional<Snapshot>> newest_snapshot();
  // See Journal::for_each_from().
  MaybeError for_each_from(std::uint64_t seq, const Journal::Visit& visit);
  // Visit the jobs with ids greater than `after`, by id, and their attempts, by job and number.
  // Both stop when the visitor returns false.
  MaybeError for_each_job(std::uint64_t after, const std::function<bool(JobRow&&)>& visit);
  MaybeError for_each_attempt(std::uint64_t after, const std::function<bool(AttemptRow&&)>& visit);

  // The greatest job id (0: no jobs), and the number of jobs up to an id.
  Result<std::uint64_t> last_job();
  Result<std::uint64_t> jobs_up_to(std::uint64_t id);

 private:
  explicit JournalReader(Database database) : database_(std::move(database)) {}

  Database database_;
  Statement newest_, entries_, jobs_, attempts_, count_;
};

}  // namespace muster
