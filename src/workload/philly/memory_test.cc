// Measures the memory use of readers by replacing operator new.

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>

#include "tests/campaign.h"
#include "tests/philly_files.h"
#include "workload/philly/philly_log.h"
#include "workload/philly/philly_use.h"

namespace {

std::size_t live_bytes = 0;
std::size_t peak_bytes = 0;

void* counted_new(std::size_t size) {
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  live_bytes += malloc_usable_size(memory);
  peak_bytes = std::max(peak_bytes, live_bytes);
  return memory;
}

void counted_delete(void* memory) noexcept {
  if (memory != nullptr) live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted_new(size); }
void* operator new[](std::size_t size) { return counted_new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted_new(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return counted_new(size); }
void operator delete(void* memory) noexcept { counted_delete(memory); }
void operator delete[](void* memory) noexcept { counted_delete(memory); }
void operator delete(void* memory, std::size_t) noexcept { counted_delete(memory); }
void operator delete[](void* memory, std::size_t) noexcept { counted_delete(memory); }

namespace muster {
namespace {

class MemoryTest : public testing::Test {
 protected:
  ~MemoryTest() override { std::filesystem::remove_all(folder_); }

  template <class Options>
  std::string file(const char* name, void (*write)(const Options&, const TextSink&),
                   const Options& options) {
    std::filesystem::create_directories(folder_);
    const std::string path = folder_ / name;
    std::ofstream out(path, std::ios::binary);
    write(options, [&](std::string_view part) {
      out.write(part.data(), static_cast<std::streamsize>(part.size()));
    });
    return path;
  }

  // Returns the peak of additional memory while `work` runs.
  template <class Work>
  static std::size_t peak_of(Work work) {
    const std::size_t before = live_bytes;
    peak_bytes = live_bytes;
    work();
    return peak_bytes - before;
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / "muster_history_memory_test";
};

TEST_F(MemoryTest, ALogTakesLessThanTwiceItsHistory) {
  if (is_short_campaign()) GTEST_SKIP() << "it measures memory";
  for (const std::int64_t jobs : {15'000, 40'000}) {
    PhillyJobs options;
    options.jobs = jobs;
    const std::string path = file("log", write_philly_log, options);
    std::optional<Result<History>> history;
    const std::size_t before = live_bytes;
    const std::size_t peak = peak_of([&] { history.emplace(read_philly_log(path)); });
    ASSERT_TRUE(history->ok());
    const std::size_t own = live_bytes - before;
    EXPECT_LT(peak, 2 * own) << jobs << " jobs: " << own << " bytes";
    EXPECT_LT(own, std::filesystem::file_size(path));
  }
}

TEST_F(MemoryTest, FilesOfUseTakeTheSameWhateverTheirLength) {
  if (is_short_campaign()) GTEST_SKIP() << "it measures memory";
  PhillyJobs options;
  options.jobs = 5000;
  Result<History> history = parse_philly_log(written(write_philly_log, options), "log");
  ASSERT_TRUE(history.ok());
  std::size_t first = 0;
  for (const std::int64_t minutes : {5, 100}) {
    PhillyMinutes span;
    span.minutes = minutes;
    const std::string gpu = file("gpu", write_philly_gpu_use, span);
    const std::string cpu = file("cpu", write_philly_cpu_use, span);
    const std::string mem = file("mem", write_philly_mem_use, span);
    const std::size_t peak = peak_of([&] {
      UseStudy study;
      EXPECT_FALSE(add_gpu_use(only(ByteSource::open(gpu).value()), history.value(), study));
      EXPECT_FALSE(add_cpu_use(ByteSource::open(cpu).value(), study));
      EXPECT_FALSE(add_mem_use(ByteSource::open(mem).value(), study));
    });
    if (first == 0) first = peak;
    EXPECT_LT(peak, first + 10'000) << minutes;
    EXPECT_LT(peak, std::size_t{20} << 20);
  }
}

}  // namespace
}  // namespace muster
