#include "exec/machine/bandwidth.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <thread>
#include <vector>

#include "exec/machine/bandwidth_notes.h"

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxThreads = 256;
constexpr std::size_t kMiB = 1 << 20;

// Four times the last-level cache, so that a round finds little cached data of the round before.
// From 128 to 512 MiB, but at most an eighth of the free memory and at least 16 MiB.
std::size_t buffer_bytes() {
  const long last_cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  const long pages = ::sysconf(_SC_AVPHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  std::size_t bytes = 128 * kMiB;
  if (last_cache > 0) bytes = std::max(bytes, 4 * static_cast<std::size_t>(last_cache));
  bytes = std::min(bytes, 512 * kMiB);
  if (pages > 0 && page > 0) {
    bytes = std::min(bytes, static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) / 8);
  }
  return std::max(bytes, 16 * kMiB);
}

// Eight independent sums, so that the loop waits for memory and not for additions.
std::uint64_t sum_of(std::span<const std::uint64_t> words) {
  std::uint64_t sums[8] = {};
  const std::uint64_t* at = words.data();
  for (std::size_t left = words.size() / 8; left > 0; --left, at += 8) {
    for (std::size_t i = 0; i < 8; ++i) sums[i] += at[i];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t part : sums) sum += part;
  return sum;
}

// Returns the best round within half a second, of at least three. Other processes slow some rounds.
double read_memory(std::span<std::uint64_t> buffer, int threads) {
  constexpr auto kTime = std::chrono::milliseconds(500);
  constexpr int kMinRounds = 3;
  std::barrier gate(threads + 1);
  std::atomic<bool> over = false;
  std::atomic<std::uint64_t> sink = 0;  // Prevents the compiler from removing the reads.
  const std::size_t share = buffer.size() / static_cast<std::size_t>(threads);
  const auto reader = [&](std::span<std::uint64_t> own) {
    std::ranges::fill(own, 1);  // Allocates the pages, close to the reading thread.
    while (true) {
      gate.arrive_and_wait();
      if (over) return;
      sink += sum_of(own);
      gate.arrive_and_wait();
    }
  };
  std::vector<std::jthread> readers;
  readers.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    readers.emplace_back(reader, buffer.subspan(static_cast<std::size_t>(i) * share, share));
  }
  const double mib = static_cast<double>(share) * 8 * threads / static_cast<double>(kMiB);
  double best = 0;
  const Clock::time_point until = Clock::now() + kTime;
  for (int round = 0; round < kMinRounds || Clock::now() < until; ++round) {
    const Clock::time_point begin = Clock::now();  // Before the barrier: never too high a result.
    gate.arrive_and_wait();
    gate.arrive_and_wait();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::max(best, mib / std::max(seconds, 1e-9));
  }
  over = true;
  gate.arrive_and_wait();
  return best;
}

}  // namespace

Result<Bandwidth> memory_bandwidth(int threads, const std::string& notes) {
  if (threads < 1 || threads > kMaxThreads) {
    return Error{fmt::format("threads: {} is not between 1 and {}", threads, kMaxThreads),
                 ErrorCode::kInvalid};
  }
  const BandwidthKey key = {0, fmt::format("memory, {} threads", threads)};
  if (const auto known = recall_bandwidth(notes, key)) return Bandwidth{*known, true};
  const std::size_t words = buffer_bytes() / 8;
  const std::unique_ptr<std::uint64_t[]> buffer(new (std::nothrow) std::uint64_t[words]);
  if (!buffer)
    return Error{"memory: not enough free memory to measure the bandwidth", ErrorCode::kSystem};
  const double mib_per_s = read_memory({buffer.get(), words}, threads);
  note_bandwidth(notes, key, mib_per_s);
  return Bandwidth{mib_per_s, false};
}

}  // namespace muster
