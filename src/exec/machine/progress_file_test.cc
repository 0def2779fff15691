#include "exec/machine/progress_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/os/testing.h"
#include "exec/lease/progress_cap.h"

namespace muster {
namespace {

class ProgressFileTest : public ::testing::Test {
 protected:
  void cap() const { cap_progress(open_directory(folder_.path()).value()); }
  void say(const std::string& text) const { folder_.append("progress.jsonl", text); }
  static std::string line(int number) { return "{\"step\":" + std::to_string(number) + "}"; }

  const Folder folder_;
  ProgressFile file_{folder_ / "progress.jsonl"};
};

TEST_F(ProgressFileTest, EachLineIsReadOnceAcrossCuts) {
  int next = 0;
  int read = 0;
  for (int round = 0; round < 800; ++round) {
    std::string text;
    for (int i = 0; i < 90; ++i) text += line(next++) + std::string(40, ' ') + "\n";
    say(text);
    if (round % 3 == 1) cap();
    if (round % 50 == 7) cap();
    const auto news = file_.look();
    ASSERT_TRUE(news) << round;
    EXPECT_EQ(news->dropped_lines, 0);
    EXPECT_EQ(news->skipped_bytes, 0);
    ASSERT_EQ(news->lines.size(), 90U) << round;
    for (const std::string& each : news->lines) {
      ASSERT_TRUE(each.starts_with(line(read++))) << each;
    }
  }
  EXPECT_EQ(read, next);
  EXPECT_LT(std::filesystem::file_size(folder_ / "progress.jsonl"),
            static_cast<std::uintmax_t>(kMaxProgressBytes + 20'000));
  EXPECT_FALSE(file_.look());
  cap();
  EXPECT_FALSE(file_.look()) << "a cut is not news";
}

TEST_F(ProgressFileTest, MoreThanTheRateIsDroppedAndCounted) {
  say(line(0) + "\n");
  ASSERT_TRUE(file_.look());
  std::string text;
  for (int i = 1; i <= 10'000; ++i) text += line(i) + "\n";
  text += std::string(kMaxProgressLine + 1, 'x') + "\n" + line(10'001) + "\n";
  say(text);
  const auto news = file_.look();
  ASSERT_TRUE(news);
  EXPECT_LE(news->lines.size(), 2U * kMaxProgressRate);
  EXPECT_EQ(news->lines.back(), line(10'001));
  EXPECT_EQ(static_cast<std::size_t>(news->dropped_lines) + news->lines.size(), 10'002U);
  EXPECT_EQ(news->skipped_bytes, 0);
}

TEST_F(ProgressFileTest, BytesThatWereRemovedUnreadAreCounted) {
  say(line(0) + "\n");
  ASSERT_TRUE(file_.look());
  const std::string whole = line(1) + std::string(1000, ' ') + "\n";
  std::string text;
  while (text.size() < 5U << 20) text += whole;
  say(text);
  cap();
  const auto news = file_.look();
  ASSERT_TRUE(news);
  EXPECT_GT(news->skipped_bytes, 4 << 20);
  EXPECT_GT(news->dropped_lines, 100);
  EXPECT_FALSE(file_.look());
}

TEST_F(ProgressFileTest, ATruncatedFileIsReadFromItsStart) {
  say(line(1) + "\n" + line(2) + "\n");
  ASSERT_TRUE(file_.look());
  folder_.write("progress.jsonl", line(3) + "\n");
  const auto news = file_.look();
  ASSERT_TRUE(news);
  EXPECT_EQ(news->lines, std::vector<std::string>{line(3)});
}

TEST_F(ProgressFileTest, AFileOfAnotherKindOrOwnerIsNotRead) {
  const std::string path = folder_ / "progress.jsonl";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(file_.look());
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_FALSE(file_.look());
  std::filesystem::remove(path);
  folder_.write("secret", line(1) + "\n");
  std::filesystem::create_symlink("secret", path);
  EXPECT_FALSE(file_.look());
  std::filesystem::remove(path);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  folder_.write("progress.jsonl", line(1) + "\n");
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(file_.look());
}

TEST_F(ProgressFileTest, AForgedHeaderHarmsOnlyItsOwnReports) {
  for (const char* forged : {"{\"muster_removed\":-1}", "{\"muster_removed\":9223372036854775807}",
                             "{\"muster_removed\":4611686018427387904}", "{\"muster_removed\":x}",
                             "{\"muster_removed\":0}", "{\"muster_removed\":17}"}) {
    folder_.write("progress.jsonl", std::string(forged) + "\n" + line(1) + "\n");
    const auto news = file_.look();
    EXPECT_TRUE(!news || news->lines.size() <= 2U);
  }
}

}  // namespace
}  // namespace muster
