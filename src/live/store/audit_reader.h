#pragma once

// Reads the audit, for the API. Each reader has its own connection, so any thread may open one
// while the daemon writes. It sees only committed rows.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "live/store/rows.h"
#include "live/store/sqlite.h"

namespace muster {

struct AuditFilter {                         // A row must match all given fields.
  std::optional<std::uint64_t> before = {};  // Only rows with a lower number.
  std::optional<std::string> user = {};      // The caller.
  std::optional<std::uint64_t> job = {};
  std::optional<Instant> since = {};
  std::optional<std::string> verb = {};
  // Only rows of this caller, or about jobs of this caller. The uids must be equal. The names count
  // only if the row has no uid, because a name can be used again for another person.
  std::optional<std::string> visible_to = {};
  std::optional<std::uint32_t> visible_to_uid = {};
  std::size_t limit = 100;
};

class AuditReader {
 public:
  // `path`: the file of a Journal. Open the Journal first, because it migrates the file.
  static Result<AuditReader> open(const std::string& path);

  // Returns the newest matching rows first. Takes time in proportion to the size of the audit.
  Result<std::vector<AuditRow>> rows(const AuditFilter& filter);

 private:
  explicit AuditReader(Database database) : database_(std::move(database)) {}

  Database database_;
  Statement rows_;
};

}  // namespace muster
