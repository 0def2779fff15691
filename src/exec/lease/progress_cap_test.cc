#include "exec/lease/progress_cap.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "base/os/testing.h"

namespace muster {
namespace {

class ProgressCap : public ::testing::Test {
 protected:
  void cap() const {
    const auto directory = open_directory(folder_.path());
    ASSERT_TRUE(directory.ok());
    cap_progress(directory.value());
  }
  std::int64_t removed() const {
    const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    return progress_removed(file.get()).value_or(-1);
  }
  static std::string lines(int first, int last) {
    std::string text;
    for (int i = first; i <= last; ++i) text += "{\"step\":" + std::to_string(i) + "}\n";
    return text;
  }

  const muster::Folder folder_;
  const std::string path_ = folder_ / "progress.jsonl";
};

TEST_F(ProgressCap, KeepsAFileWithinTheLimit) {
  folder_.write("progress.jsonl", std::string(kMaxProgressBytes, '\n'));
  cap();
  EXPECT_EQ(std::filesystem::file_size(path_), kMaxProgressBytes);
  EXPECT_EQ(removed(), 0);
}

TEST_F(ProgressCap, KeepsTheLastHalfAndCountsTheRest) {
  std::string all;
  int next = 0;
  for (int round = 0; round < 3; ++round) {
    const std::string more = lines(next, next + 79'999);
    next += 80'000;
    all += more;
    folder_.append("progress.jsonl", more);
    cap();
    const std::string kept = folder_.read("progress.jsonl");
    EXPECT_LE(kept.size(), static_cast<std::size_t>(kMaxProgressBytes / 2 + 4096));
    EXPECT_GE(kept.size(), static_cast<std::size_t>(kMaxProgressBytes / 2));
    EXPECT_TRUE(is_progress_header(kept));
    EXPECT_EQ(removed() + static_cast<std::int64_t>(kept.size()),
              static_cast<std::int64_t>(all.size()));
    const std::size_t first = kept.find('\n') + 1;
    EXPECT_EQ(kept.substr(first), all.substr(static_cast<std::size_t>(removed()) + first));
    EXPECT_EQ(all[static_cast<std::size_t>(removed()) + first - 1], '\n') << "a whole line";
  }
}

TEST_F(ProgressCap, AJobThatKeepsTheFileOpenLosesNoLine) {
  folder_.write("progress.jsonl", "");
  const Fd probe(::open(folder_.path().c_str(), O_TMPFILE | O_RDWR, 0600));
  if (!probe.open() || ::ftruncate(probe.get(), 8192) != 0 ||
      ::fallocate(probe.get(), FALLOC_FL_COLLAPSE_RANGE, 0, 4096) != 0) {
    GTEST_SKIP() << "this file system cannot remove a range";
  }
  std::atomic<bool> over = false;
  std::atomic<int> rounds = 0;
  std::thread job([&] {
    const Fd file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    for (int i = 0; i < 400'000; ++i) {
      // Fewer bytes than the half that is kept, also on a busy machine.
      if (i % 2'000 == 0) {
        for (const int last = rounds; rounds == last;) ::usleep(100);
      }
      const std::string line = lines(i, i);
      EXPECT_EQ(::write(file.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
    }
    over = true;
  });
  std::set<int> seen;
  const auto read = [&] {
    std::istringstream text(folder_.read("progress.jsonl"));
    int step = 0;
    for (std::string line; std::getline(text, line);) {
      if (std::sscanf(line.c_str(), "{\"step\":%d}", &step) == 1) seen.insert(step);
    }
  };
  while (!over) {
    read();
    cap();
    ++rounds;
    ::usleep(1000);
  }
  job.join();
  read();
  EXPECT_EQ(seen.size(), 400'000U);
  EXPECT_GT(removed(), 0);
}

TEST_F(ProgressCap, WithoutALineEndTheHeaderStillEnds) {
  folder_.write("progress.jsonl", std::string(3 << 20, 'x'));
  cap();
  EXPECT_LE(std::filesystem::file_size(path_), static_cast<std::uintmax_t>(600 << 10));
  EXPECT_EQ(folder_.read("progress.jsonl").find('\n'), 47U);
}

TEST_F(ProgressCap, AHugeSparseFileIsShortenedQuickly) {
  folder_.write("progress.jsonl", "x\n");
  if (::truncate(path_.c_str(), std::int64_t{1} << 40) != 0) GTEST_SKIP() << "no sparse files";
  cap();
  EXPECT_LE(std::filesystem::file_size(path_), static_cast<std::uintmax_t>(kMaxProgressBytes));
  EXPECT_GT(removed(), std::int64_t{1} << 39);
}

TEST_F(ProgressCap, AnythingElseIsLeftAlone) {
  cap();  // No file.
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  cap();  // Does not wait for a writer.
  EXPECT_TRUE(std::filesystem::is_fifo(path_));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  cap();
  std::filesystem::remove(path_);
  const std::string secret(2 << 20, 's');
  folder_.write("secret", secret);
  std::filesystem::create_symlink("secret", path_);
  cap();
  EXPECT_EQ(folder_.read("secret"), secret);
  std::filesystem::remove(path_);
  std::filesystem::create_hard_link(folder_ / "secret", path_);
  cap();
  EXPECT_EQ(folder_.read("secret"), secret);
}

}  // namespace
}  // namespace muster
