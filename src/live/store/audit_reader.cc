#include "live/store/audit_reader.h"

#include <utility>

namespace muster {

Result<AuditReader> AuditReader::open(const std::string& path) {
  Result<Database> database = Database::open(path, Database::Access::kRead);
  if (!database.ok()) return database.error();
  AuditReader reader(std::move(database).value());
  if (MaybeError refusal = reader.database_.prepare(
          "SELECT number, at, uid, user, via, address, verb, object, job, owner, owner_uid, status,"
          " answer, dropped FROM audit WHERE (?1 IS NULL OR number < ?1) AND (?2 IS NULL OR user = "
          "?2)"
          " AND (?3 IS NULL OR job = ?3) AND (?4 IS NULL OR at >= ?4)"
          " AND (?5 IS NULL OR verb = ?5) AND (?6 IS NULL"
          " OR uid = ?7 OR (uid IS NULL AND user = ?6)"
          " OR owner_uid = ?7 OR (owner_uid IS NULL AND owner = ?6))"
          " ORDER BY number DESC LIMIT ?8",
          reader.rows_)) {
    return *refusal;
  }
  return reader;
}

Result<std::vector<AuditRow>> AuditReader::rows(const AuditFilter& filter) {
  rows_.start(filter.before, filter.user, filter.job, filter.since, filter.verb, filter.visible_to,
              filter.visible_to_uid, static_cast<std::uint64_t>(filter.limit));
  std::vector<AuditRow> rows;
  while (rows_.next()) {
    AuditRow row;
    row.number = rows_.number(0);
    row.at = Instant::micros(rows_.integer(1));
    if (!rows_.is_null(2)) row.uid = static_cast<std::uint32_t>(rows_.number(2));
    row.user = rows_.text(3);
    row.via = rows_.text(4);
    row.address = rows_.text(5);
    row.verb = rows_.text(6);
    row.object = rows_.text(7);
    row.job = rows_.number(8);
    row.owner = rows_.text(9);
    if (!rows_.is_null(10)) row.owner_uid = static_cast<std::uint32_t>(rows_.number(10));
    row.status = static_cast<int>(rows_.integer(11));
    row.answer = rows_.text(12);
    row.dropped = rows_.number(13);
    rows.push_back(std::move(row));
  }
  if (rows_.code() != SQLITE_OK) return database_.error("cannot read");
  return rows;
}

}  // namespace muster
