#pragma once

// A thin C++ wrapper of SQLite: connections, and statements with bound values. Used only inside
// store/. A connection and its statements belong to one thread at a time. A child process must not
// use them after a fork.

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  // Runs the statement once to its end. Returns SQLITE_OK or the extended error code.
  template <class... Values>
  int run(const Values&... values) {
    start(values...);
    while (next()) {
    }
    return code_;
  }

  // Starts a query. Texts are not copied, so they must live until next() returns false. Read every
  // query to its end; an open query prevents SQLite from freeing old pages.
  template <class... Values>
  void start(const Values&... values) {
    code_ = SQLITE_OK;
    int place = 0;
    (bind(++place, values), ...);
  }
  bool next();                        // False at the end and after an error.
  int code() const { return code_; }  // After the end: the result code.

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  std::uint64_t number(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  std::string text(int column) const;
  std::optional<Instant> instant(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  void bind(int place, std::int64_t value);
  void bind(int place, std::uint64_t value) { bind(place, static_cast<std::int64_t>(value)); }
  void bind(int place, std::uint32_t value) { bind(place, static_cast<std::int64_t>(value)); }
  void bind(int place, Instant value) { bind(place, value.us()); }
  void bind(int place, std::string_view value);
  void bind(int place, const std::string& value) { bind(place, std::string_view(value)); }
  template <class T>
  void bind(int place, const std::optional<T>& value) {
    if (value) {
      bind(place, *value);
    } else {
      bind_null(place);
    }
  }
  void bind_null(int place);
  void note(int code) {
    if (code_ == SQLITE_OK) code_ = code;
  }

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int code_ = SQLITE_OK;
};

class Database {
 public:
  enum class Access { kRead, kWrite };
  // The file must exist. Every error message starts with its path.
  static Result<Database> open(const std::string& path, Access access);

  MaybeError run(const char* sql);  // Statements without parameters.
  MaybeError prepare(const char* sql, Statement& into);
  Result<std::int64_t> number_of(const char* sql);  // First value of the result.
  Result<std::string> text_of(const char* sql);

  // Describes the error of the last call on this connection.
  Error error(std::string_view what) const;

  sqlite3* handle() const { return handle_.get(); }
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}

  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace muster
