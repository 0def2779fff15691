#include "live/store/sqlite.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/types/check.h"

namespace muster {

namespace {

constexpr int kBusyMillis = 2000;  // In case an sqlite3 shell writes at the same time.

ErrorCode error_code_of_sqlite(int code) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::kCorrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::kBusy;
    default:
      return ErrorCode::kSystem;
  }
}

}  // namespace

bool Statement::next() {
  MUSTER_CHECK(statement_ != nullptr);
  if (code_ == SQLITE_OK) {
    const int code = sqlite3_step(statement_.get());
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) code_ = code;
  }
  sqlite3_reset(statement_.get());
  return false;
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (bytes == nullptr) return {};
  return std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

std::optional<Instant> Statement::instant(int column) const {
  if (is_null(column)) return std::nullopt;
  return Instant::micros(integer(column));
}

void Statement::bind(int place, std::int64_t value) {
  note(sqlite3_bind_int64(statement_.get(), place, value));
}

void Statement::bind(int place, std::string_view value) {
  // An empty view may have a null address, which SQLite would treat as NULL.
  const char* bytes = value.empty() ? "" : value.data();
  note(sqlite3_bind_text64(statement_.get(), place, bytes, value.size(), SQLITE_STATIC,
                           SQLITE_UTF8));
}

void Statement::bind_null(int place) { note(sqlite3_bind_null(statement_.get(), place)); }

Result<Database> Database::open(const std::string& path, Access access) {
  const int flags = SQLITE_OPEN_NOMUTEX |
                    (access == Access::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  Database database(path, handle);
  if (handle == nullptr) return Error{"cannot open: out of memory", ErrorCode::kSystem, path};
  if (code != SQLITE_OK) return database.error("cannot open");
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMillis);
  return database;
}

MaybeError Database::run(const char* sql) {
  if (sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return std::nullopt;
  return error("cannot write");
}

MaybeError Database::prepare(const char* sql, Statement& into) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(handle(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return error("cannot read");
  into = Statement(statement);
  return std::nullopt;
}

Result<std::string> Database::text_of(const char* sql) {
  Statement statement;
  if (MaybeError refusal = prepare(sql, statement)) return *refusal;
  statement.start();
  std::string text;
  for (bool first = true; statement.next(); first = false) {
    if (first) text = statement.text(0);
  }
  if (statement.code() != SQLITE_OK) return error("cannot read");
  return text;
}

Result<std::int64_t> Database::number_of(const char* sql) {
  Statement statement;
  if (MaybeError refusal = prepare(sql, statement)) return *refusal;
  statement.start();
  std::optional<std::int64_t> value;
  while (statement.next()) {
    if (!value) value = statement.integer(0);
  }
  if (statement.code() != SQLITE_OK) return error("cannot read");
  if (!value) return Error{"damaged: a value is missing", ErrorCode::kCorrupt, path_};
  return *value;
}

Error Database::error(std::string_view what) const {
  std::string line = fmt::format("{}: {}", what, sqlite3_errmsg(handle()));
  if (const int number = sqlite3_system_errno(handle());
      number != 0 && (sqlite3_errcode(handle()) & 0xff) == SQLITE_IOERR) {
    line += fmt::format(" ({})", std::strerror(number));
  }
  return Error{std::move(line), error_code_of_sqlite(sqlite3_errcode(handle())), path_};
}

}  // namespace muster
