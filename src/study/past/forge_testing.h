#pragma once

// For the tests of study/past: functions that change the database of a manager with SQL, so that
// tests can show how the reader handles corrupted entries.

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>
#include <string>

#include "live/store/checksum.h"

namespace muster::whatif_testing {

// Executes SQL on a database file.
inline void hammer(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(handle);
  sqlite3_close(handle);
}

// Replaces the first `from` in the entry and updates the checksum.
inline void forge(const std::string& path, std::uint64_t seq, const std::string& from,
                  const std::string& to) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  sqlite3_stmt* read = nullptr;
  const std::string select =
      "SELECT kind, at, body FROM entries WHERE seq = " + std::to_string(seq);
  ASSERT_EQ(sqlite3_prepare_v2(handle, select.c_str(), -1, &read, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_step(read), SQLITE_ROW);
  const auto text = [&](int column) {
    return std::string(reinterpret_cast<const char*>(sqlite3_column_text(read, column)));
  };
  const std::string kind = text(0);
  const std::int64_t at = sqlite3_column_int64(read, 1);
  std::string body = text(2);
  sqlite3_finalize(read);
  ASSERT_NE(body.find(from), std::string::npos) << body;
  body.replace(body.find(from), from.size(), to);
  sqlite3_stmt* write = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(handle, "UPDATE entries SET body = ?1, checksum = ?2 WHERE seq = ?3",
                               -1, &write, nullptr),
            SQLITE_OK);
  sqlite3_bind_text(write, 1, body.c_str(), -1, SQLITE_TRANSIENT);
  sqlite3_bind_int64(write, 2, checksum(seq, kind, at, body));
  sqlite3_bind_int64(write, 3, static_cast<std::int64_t>(seq));
  EXPECT_EQ(sqlite3_step(write), SQLITE_DONE);
  sqlite3_finalize(write);
  sqlite3_close(handle);
}

}  // namespace muster::whatif_testing
