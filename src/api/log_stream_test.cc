#include "api/log_stream.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <random>

#include "api/log_feed.h"
#include "api/testing.h"
#include "shim/log_file.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

std::string rest(LogStream& stream, std::size_t piece = 7) {
  std::string all;
  for (std::string bytes = stream.read(piece); !bytes.empty(); bytes = stream.read(piece)) {
    EXPECT_LE(bytes.size(), piece);
    all += bytes;
  }
  return all;
}

TEST(LogStream, IsAllFilesFromTheOldestOn) {
  const Folder folder;
  folder.write("out.log.2", "oldest ");
  folder.write("out.log.1", "older ");
  folder.write("out.log", "newest");
  const std::string all = "oldest older newest";
  EXPECT_EQ(LogStream(folder / "").size(), all.size());
  for (int offset = -25; offset <= 25; ++offset) {
    LogStream stream(folder / "");
    const auto far = static_cast<std::size_t>(std::abs(offset));
    const std::size_t near = std::min(far, all.size());
    const std::size_t place = offset < 0 ? all.size() - near : near;
    EXPECT_EQ(stream.seek(offset), place);
    EXPECT_EQ(rest(stream), all.substr(place)) << offset;
  }
  LogStream stream(folder / "");
  EXPECT_EQ(stream.seek(std::numeric_limits<std::int64_t>::min()), 0u);
}

TEST(LogStream, WaitsForALogThatIsNotThereYet) {
  const Folder folder;
  LogStream stream(folder / "later");
  EXPECT_EQ(stream.read(10), "");
  fs::create_directory(folder / "later");
  EXPECT_EQ(stream.read(10), "");
  folder.write("later/out.log", "now");
  EXPECT_EQ(rest(stream), "now");
}

TEST(LogStream, FinishesARenamedFileBeforeTheNext) {
  const Folder folder;
  folder.write("out.log", "one ");
  LogStream stream(folder / "");
  EXPECT_EQ(rest(stream), "one ");
  folder.append("out.log", "two ");
  fs::rename(folder / "out.log", folder / "out.log.1");
  EXPECT_EQ(rest(stream), "two ");
  folder.write("out.log", "three ");
  fs::rename(folder / "out.log.1", folder / "out.log.2");
  fs::rename(folder / "out.log", folder / "out.log.1");
  folder.write("out.log", "four");
  EXPECT_EQ(rest(stream), "three four");
}

// A shim that keeps no old files removes the one that is full.
TEST(LogStream, GoesOnAfterARemovedFile) {
  const Folder folder;
  folder.write("out.log", "four");
  LogStream stream(folder / "");
  EXPECT_EQ(rest(stream), "four");
  fs::remove(folder / "out.log");
  EXPECT_EQ(rest(stream), "");
  folder.write("out.log", "five");
  EXPECT_EQ(rest(stream), "five");
}

TEST(LogStream, ReadsNoLinksAndNoPipes) {
  const Folder folder;
  folder.write("secret", "secret");
  fs::create_symlink(folder / "secret", folder / "out.log");
  ASSERT_EQ(mkfifo((folder / "out.log.1").c_str(), 0600), 0);
  LogStream stream(folder / "");
  EXPECT_EQ(stream.size(), 0u);
  EXPECT_EQ(rest(stream), "");
}

// A shim's own log, written and read at random: nothing is missed and nothing comes twice as long
// as the reader is not so late that its file is gone.
TEST(LogStream, FollowsTheShimsLog) {
  std::mt19937 random(7);
  const Folder folder;
  const Fd directory = open_directory(folder / "").value();
  LogFile log(directory, 200, 3);
  LogStream stream(folder / "");
  std::string written, seen;
  for (int i = 0; i < 2'000; ++i) {
    std::string line = std::to_string(i) + std::string(random() % 60, 'x') + "\n";
    log.write(line);
    written += line;
    if (random() % 4 == 0) seen += rest(stream, 1 + random() % 100);
  }
  seen += rest(stream);
  EXPECT_EQ(seen, written);
}

TEST(LogFeed, CutsBetweenCharacters) {
  EXPECT_EQ(whole_characters(""), 0u);
  EXPECT_EQ(whole_characters("abc"), 3u);
  EXPECT_EQ(whole_characters("a\xC3"), 1u);
  EXPECT_EQ(whole_characters("a\xC3\xA9"), 3u);
  EXPECT_EQ(whole_characters("a\xE2\x82"), 1u);
  EXPECT_EQ(whole_characters("\xF0\x9F\x98"), 0u);
  EXPECT_EQ(whole_characters("\xF0\x9F\x98\x80"), 4u);
  EXPECT_EQ(whole_characters("\x80\x80\x80\x80"), 4u);  // Not UTF-8 anyway.
}

}  // namespace
}  // namespace muster
