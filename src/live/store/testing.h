#pragma once

// Helpers for the tests of store/: a temporary folder, small rows, and direct SQL access to damage
// a journal.

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/text/error_text.h"
#include "live/store/journal.h"

namespace muster {

// Uses memory if possible, because each of hundreds of commits takes milliseconds on a real disk.
inline std::filesystem::path quick_folder() {
  return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
}

class Scratch {
 public:
  explicit Scratch(const std::filesystem::path& parent = quick_folder()) {
    std::string pattern = (parent / "muster-store-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(dir_); }
  std::string operator/(const std::string& name) const { return (dir_ / name).string(); }

 private:
  std::filesystem::path dir_;
};

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Runs statements directly on the file, without the Journal.
inline void hammer(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK)
      << (message != nullptr ? message : "");
  sqlite3_free(message);
  sqlite3_close(handle);
}

inline JournalEntry entry(int number) {
  return {"test", Instant::micros(number), "{\"n\": " + std::to_string(number) + "}"};
}

inline JobRow job_row(std::uint64_t id) {
  JobRow job;
  job.id = id;
  job.key = "k" + std::to_string(id);
  job.tenant = "vision";
  job.user = "ann";
  job.name = "train";
  job.state = "queued";
  job.spec = R"({"gpus": 2})";
  job.submitted = Instant::micros(static_cast<std::int64_t>(id) * 10);
  return job;
}

using Entries = std::vector<std::pair<std::uint64_t, JournalEntry>>;

inline Entries entries_from(Journal& journal, std::uint64_t seq) {
  Entries found;
  const MaybeError refusal = journal.for_each_from(
      seq, [&](std::uint64_t number, const JournalEntry& one) { found.emplace_back(number, one); });
  EXPECT_FALSE(refusal) << refusal->message;
  return found;
}

inline void expect_refused(const MaybeError& refusal, const std::string& part) {
  ASSERT_TRUE(refusal) << "not refused; expected: " << part;
  const std::string text = full_text(*refusal);
  EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

inline void expect_unopenable(const std::string& path, const std::string& part) {
  const Result<Journal> journal = Journal::open(path);
  ASSERT_FALSE(journal.ok()) << "opened; expected: " << part;
  expect_refused(journal.error(), part);
}

}  // namespace muster
