#pragma once

// Helpers of the tests of the whole program. Each test has its own temporary directory and runs the
// program with a list of arguments.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "base/types/testing.h"
#include "cli/common/command.h"

namespace muster {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Output {
  int status = 0;
  std::string out;
  std::string err;
};

inline Output muster_words(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_muster(words, {out, err});
  return {status, out.str(), err.str()};
}

// Runs the program with the arguments in `line`, separated by single spaces.
inline Output muster(const std::string& line) {
  std::vector<std::string> words;
  for (const std::string_view word : split(line, ' ')) words.emplace_back(word);
  return muster_words(words);
}

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class ScratchTest : public testing::Test {
 protected:
  ScratchTest() {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    dir_ = fs::temp_directory_path() / ("muster_cli_" + std::to_string(getpid()) + "_" + name);
    fs::create_directories(dir_);
  }
  ~ScratchTest() override { fs::remove_all(dir_); }

  std::string path(const std::string& name) const { return (dir_ / name).string(); }
  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(dir_ / name, std::ios::binary) << content;
    return path(name);
  }

  // Expects status 2, no output, and one error line that contains `what`.
  static void expect_refused(const Output& got, const std::string& what) {
    EXPECT_EQ(got.status, kExitBadInput) << got.err;
    EXPECT_EQ(got.out, "");
    EXPECT_EQ(std::count(got.err.begin(), got.err.end(), '\n'), 1) << got.err;
    EXPECT_TRUE(got.err.starts_with("muster: ") && got.err.ends_with('\n')) << got.err;
    EXPECT_TRUE(has(got.err, what)) << "wanted: " << what << "\ngot: " << got.err;
  }

  // Calls expect_refused() for `begin` followed by each input.
  static void expect_refusals(const std::string& begin, std::initializer_list<TextCase> rows) {
    for (const TextCase& row : rows) {
      SCOPED_TRACE(row.input);
      expect_refused(muster(begin + row.input), row.expected);
    }
  }

  fs::path dir_;
};

}  // namespace muster
