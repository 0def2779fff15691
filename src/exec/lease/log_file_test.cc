#include "exec/lease/log_file.h"
#include "base/os/testing.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster {
namespace {

class Log : public ::testing::Test {
 protected:
  std::string text(const std::string& name) const { return folder_.read(name); }

  const Folder folder_;
  const std::string path_ = folder_.path();
  Fd directory_ = std::move(open_directory(path_)).value();
};

TEST_F(Log, CutsAtLinesAndKeepsTheNewest) {
  LogFile log(directory_, 10, 2);
  for (const char* line : {"aaaa\n", "bbbb\n", "cc\n", "dddddd\n", "ee\n", "ffff\n"})
    log.write(line);
  EXPECT_EQ(text("out.log"), "ee\nffff\n");
  EXPECT_EQ(text("out.log.1"), "cc\ndddddd\n");
  EXPECT_EQ(text("out.log.2"), "aaaa\nbbbb\n");
  log.write("gggggggg\n");
  EXPECT_EQ(text("out.log"), "gggggggg\n");
  EXPECT_EQ(text("out.log.1"), "ee\nffff\n");
  EXPECT_FALSE(std::filesystem::exists(path_ + "/out.log.3"));
}

// For any pieces, the files in order are the last part of the text, and no file exceeds the cap.
TEST_F(Log, IsTheTailOfWhatWasWrittenWhateverThePieces) {
  std::string all;
  unsigned state = 1;
  LogFile log(directory_, 97, 3);
  for (int i = 0; i < 400; ++i) {
    state = state * 1664525 + 1013904223;
    std::string piece(1 + (state >> 24) % 150, static_cast<char>('a' + i % 26));
    if (state & 0x10000) piece.back() = '\n';
    log.write(piece);
    all += piece;
    std::string kept;
    for (const char* name : {"out.log.3", "out.log.2", "out.log.1", "out.log"}) {
      EXPECT_LE(text(name).size(), 97U);
      kept += text(name);
    }
    ASSERT_TRUE(all.ends_with(kept));
  }
  EXPECT_EQ(log.lost_bytes(), 0);
}

// Pieces can end anywhere, even at the cap. Lines are never split.
TEST_F(Log, CutsNoShortLineWhateverThePieces) {
  std::string all;
  for (int i = 0; i < 700; ++i) all += std::to_string(i * i) + "\n";
  for (const std::size_t size : {1U, 2U, 5U, 7U, 64U, 127U, 128U, 256U, 1000U}) {
    for (const char* name : {"out.log.1", "out.log"}) std::filesystem::remove(path_ + "/" + name);
    LogFile log(directory_, 256, 1);
    for (std::size_t at = 0; at < all.size(); at += size) {
      log.write(std::string_view(all).substr(at, size));
      EXPECT_TRUE(text("out.log.1").empty() || text("out.log.1").ends_with("\n"));
      EXPECT_LE(text("out.log").size(), 256U);
    }
    const std::string kept = text("out.log.1") + text("out.log");
    EXPECT_TRUE(all.ends_with("\n" + kept)) << size;
    EXPECT_GE(kept.size(), 192U);
  }
}

TEST_F(Log, WithoutOldFilesBeginsAnew) {
  LogFile log(directory_, 8, 0);
  log.write("aaaaaaa\nbbb\n");
  EXPECT_EQ(text("out.log"), "bbb\n");
  EXPECT_FALSE(std::filesystem::exists(path_ + "/out.log.1"));
}

TEST_F(Log, CountsWhatItCannotWriteAndTriesAgain) {
  std::filesystem::create_directory(path_ + "/out.log");
  LogFile log(directory_, 1000, 1);
  log.write("12345");
  EXPECT_EQ(log.lost_bytes(), 5);
  EXPECT_EQ(log.trouble(), "Is a directory");
  std::filesystem::remove(path_ + "/out.log");
  log.write("67");
  EXPECT_EQ(text("out.log"), "67");
  EXPECT_EQ(log.lost_bytes(), 5);
}

}  // namespace
}  // namespace muster
