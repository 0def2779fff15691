#include "exec/machine/bandwidth.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "exec/machine/dataset.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

class BandwidthTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/muster-bandwidth-test-XXXXXX";
    scratch_ = ::mkdtemp(name);
    notes_ = scratch_ + "/not/there/yet";
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(scratch_, ignored);
  }

  std::string directory(const std::string& name) const {
    fs::create_directories(scratch_ + "/" + name);
    return scratch_ + "/" + name;
  }
  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  static std::size_t entries(const std::string& path) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(path)) ++count;
    return count;
  }

  std::string scratch_, notes_;
};

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST_F(BandwidthTest, MemoryIsMeasuredOnceAndRemembered) {
  const auto first = memory_bandwidth(2, notes_);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_GT(first.value().mib_per_s, 100);
  EXPECT_LT(first.value().mib_per_s, 1e7);
  EXPECT_FALSE(first.value().remembered);
  const Bandwidth second = memory_bandwidth(2, notes_).value();
  EXPECT_TRUE(second.remembered);
  EXPECT_DOUBLE_EQ(second.mib_per_s, first.value().mib_per_s);
}

TEST_F(BandwidthTest, RefusesOddThreads) {
  for (const int threads : {-1, 0, 257}) {
    const auto none = memory_bandwidth(threads, "");
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().message,
              "threads: " + std::to_string(threads) + " is not between 1 and 256");
  }
}

TEST_F(BandwidthTest, DamagedNotesAreAsGoodAsNone) {
  fs::create_directories(notes_);
  write(notes_ + "/bandwidth.json", "{");
  EXPECT_FALSE(memory_bandwidth(1, notes_).value().remembered);
  EXPECT_TRUE(memory_bandwidth(1, notes_).value().remembered);
}

TEST_F(BandwidthTest, NotesThatCannotBeWrittenAreDoneWithout) {
  write(scratch_ + "/file", "x");
  EXPECT_TRUE(memory_bandwidth(1, scratch_ + "/file/below").ok());
  EXPECT_EQ(entries(scratch_), 1U);
}

TEST_F(BandwidthTest, StorageIsMeasuredByTheDataItself) {
  const std::string data = directory("data/deep");
  for (int i = 0; i < 12; ++i) {
    write(data + "/part" + std::to_string(i), std::string((2 << 20) + 17, 'x'));
  }
  Bandwidth first;
  const double took = seconds_of([&] {
    const auto measured = storage_bandwidth(scratch_ + "/data", "", notes_);
    ASSERT_TRUE(measured.ok()) << measured.error().message;
    first = measured.value();
  });
  EXPECT_LT(took, 30);  // 1.5 s, plus the delay of a busy machine.
  EXPECT_GT(first.mib_per_s, 0.1);
  EXPECT_FALSE(first.remembered);
  EXPECT_EQ(entries(data), 12U);
  const Bandwidth second = storage_bandwidth(data, "", notes_).value();
  EXPECT_TRUE(second.remembered);
  EXPECT_DOUBLE_EQ(second.mib_per_s, first.mib_per_s);
  // A single file is a data set too. Small files are measured separately.
  EXPECT_TRUE(storage_bandwidth(data + "/part3", directory("tmp"), notes_).value().remembered);
  const std::string small = directory("small");
  for (int i = 0; i < 200; ++i) write(small + "/" + std::to_string(i), std::string(50'000, 'y'));
  EXPECT_FALSE(storage_bandwidth(small, "", notes_).value().remembered);
}

TEST_F(BandwidthTest, TooLittleDataIsReadFromAScratchFileOnlyWhereAllowed) {
  const std::string data = directory("data");
  const std::string tmp = directory("tmp");
  write(data + "/a", std::string(1 << 20, 'x'));
  const auto none = storage_bandwidth(data, "", notes_);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message,
            "dataset: 1.0 MiB is too small to measure the storage: '" + data +
                "'; use at least 8 MiB, specify the bandwidth, or specify a directory for a "
                "temporary file of 64 MiB");
  const auto measured = storage_bandwidth(data, tmp, notes_);
  ASSERT_TRUE(measured.ok()) << measured.error().message;
  EXPECT_GT(measured.value().mib_per_s, 0.1);
  EXPECT_EQ(entries(data), 1U);
  EXPECT_EQ(entries(tmp), 0U);
  const auto elsewhere = storage_bandwidth(data, "/proc", "");
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.error().message,
            "scratch: '/proc' is not on the file system of the data set");
  EXPECT_FALSE(storage_bandwidth(data, scratch_ + "/none", "").ok());
}

TEST_F(BandwidthTest, ADatasetThatIsNotThereIsRefused) {
  const std::string missing = scratch_ + "/none";
  const std::string words = "dataset: no such file or directory: '" + missing +
                            "'; specify the file or directory from which the job reads its data";
  EXPECT_EQ(storage_bandwidth(missing, "", "").error().message, words);
  EXPECT_EQ(dataset_size(missing).error().message, words);
  EXPECT_EQ(dataset_size("/dev/null").error().message,
            "dataset: neither a directory nor a file: '/dev/null'; specify the file or directory "
            "from which the job reads its data");
  EXPECT_FALSE(storage_bandwidth(directory("empty"), "", "").ok());
}

TEST_F(BandwidthTest, ADatasetsBytesAreSummed) {
  const std::string data = directory("data");
  EXPECT_EQ(dataset_size(data).value().bytes, 0);
  EXPECT_TRUE(dataset_size(data).value().complete);
  directory("data/a/b/c");
  write(data + "/one", std::string(1000, 'x'));
  write(data + "/a/b/c/two", std::string(234, 'x'));
  write(data + "/a/empty", "");
  write(scratch_ + "/outside", std::string(5000, 'x'));
  fs::create_symlink(scratch_ + "/outside", data + "/link");
  fs::create_directory_symlink(scratch_, data + "/a/round");
  ASSERT_EQ(::mkfifo((data + "/pipe").c_str(), 0600), 0);
  const DatasetSize size = dataset_size(data).value();
  EXPECT_EQ(size.bytes, 1234);
  EXPECT_EQ(size.files, 3);
  EXPECT_EQ(size.links, 2);
  EXPECT_TRUE(size.complete);
  EXPECT_EQ(dataset_size(data + "/one").value().bytes, 1000);
  EXPECT_EQ(dataset_size(data + "/link").value().bytes, 5000);  // The path itself can be a link.
}

TEST_F(BandwidthTest, ADatasetWithoutEndIsLookedAtInPart) {
  const std::string data = directory("data");
  for (int i = 0; i < 500; ++i) write(data + "/" + std::to_string(i), "x");
  DatasetSize size = dataset_size(data, {}, {100, Duration::seconds(20)}).value();
  EXPECT_FALSE(size.complete);
  EXPECT_EQ(size.files, 100);
  int told = 0;
  size = dataset_size(data, [&](const DatasetSize&) { ++told; }, {1000, Duration()}).value();
  EXPECT_FALSE(size.complete);
  EXPECT_LT(size.files, 500);
  EXPECT_EQ(told, 0);  // It took less than the progress interval.
  EXPECT_EQ(dataset_size(data).value().files, 500);
}

}  // namespace
}  // namespace muster
