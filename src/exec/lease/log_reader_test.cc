#include "exec/lease/log_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "exec/lease/lease_files.h"
#include "exec/lease/log_file.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string pattern = testing::TempDir() + "log-reader-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary | std::ios::trunc) << text;
  }
  void append(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary | std::ios::app) << text;
  }

 private:
  fs::path path_;
};

std::string rest(LogReader& stream, std::size_t piece = 7) {
  std::string all;
  for (std::string bytes = stream.read(piece); !bytes.empty(); bytes = stream.read(piece)) {
    EXPECT_LE(bytes.size(), piece);
    all += bytes;
  }
  return all;
}

TEST(LogReader, IsAllFilesFromTheOldestOn) {
  const Folder folder;
  folder.write("out.log.2", "oldest ");
  folder.write("out.log.1", "older ");
  folder.write("out.log", "newest");
  const std::string all = "oldest older newest";
  EXPECT_EQ(LogReader(folder / "").size(), all.size());
  for (int offset = -25; offset <= 25; ++offset) {
    LogReader stream(folder / "");
    const auto far = static_cast<std::size_t>(std::abs(offset));
    const std::size_t near = std::min(far, all.size());
    const std::size_t place = offset < 0 ? all.size() - near : near;
    EXPECT_EQ(stream.seek(offset), place);
    EXPECT_EQ(rest(stream), all.substr(place)) << offset;
  }
  LogReader stream(folder / "");
  EXPECT_EQ(stream.seek(std::numeric_limits<std::int64_t>::min()), 0u);
}

TEST(LogReader, WaitsForALogThatIsNotThereYet) {
  const Folder folder;
  LogReader stream(folder / "later");
  EXPECT_EQ(stream.read(10), "");
  fs::create_directory(folder / "later");
  EXPECT_EQ(stream.read(10), "");
  folder.write("later/out.log", "now");
  EXPECT_EQ(rest(stream), "now");
}

TEST(LogReader, FinishesARenamedFileBeforeTheNext) {
  const Folder folder;
  folder.write("out.log", "one ");
  LogReader stream(folder / "");
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

// A shim without old files deletes a full file.
TEST(LogReader, GoesOnAfterARemovedFile) {
  const Folder folder;
  folder.write("out.log", "four");
  LogReader stream(folder / "");
  EXPECT_EQ(rest(stream), "four");
  fs::remove(folder / "out.log");
  EXPECT_EQ(rest(stream), "");
  folder.write("out.log", "five");
  EXPECT_EQ(rest(stream), "five");
}

TEST(LogReader, ReadsNoLinksAndNoPipes) {
  const Folder folder;
  folder.write("secret", "secret");
  fs::create_symlink(folder / "secret", folder / "out.log");
  ASSERT_EQ(mkfifo((folder / "out.log.1").c_str(), 0600), 0);
  LogReader stream(folder / "");
  EXPECT_EQ(stream.size(), 0u);
  EXPECT_EQ(rest(stream), "");
}

// A log written and read at random. No byte is missed or repeated, unless the reader is so late
// that its file is deleted.
TEST(LogReader, FollowsTheShimsLog) {
  std::mt19937 random(7);
  const Folder folder;
  const Fd directory = open_directory(folder / "").value();
  LogFile log(directory, 200, 3);
  LogReader stream(folder / "");
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

TEST(LeaseFiles, FindsWhatALeaseLeft) {
  const Folder folder;
  const LeaseFiles files(folder / "leases");
  EXPECT_TRUE(files.empty());
  fs::create_directories(folder / "leases/j1.e2.n3");
  EXPECT_FALSE(files.empty());
  EXPECT_TRUE(files.has("j1.e2.n3"));
  EXPECT_FALSE(files.has("j1.e2"));
  folder.write("leases/j1.e2.n3/out.log", "said");
  LogReader log = files.open_log("j1.e2.n3");
  EXPECT_EQ(rest(log), "said");
  EXPECT_EQ(files.output_path("j1.e2.n3"), folder / "leases/j1.e2.n3/out.log");
  EXPECT_EQ(files.progress_path("j1.e2"), folder / "leases/j1.e2/progress.jsonl");
}

}  // namespace
}  // namespace muster
