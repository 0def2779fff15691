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

constexpr int kMostThreads = 256;
constexpr std::size_t kMiB = 1 << 20;

// Four times the last cache, so that little of it is left from one round to the next; at least what
// is enough for a machine that does not tell, and never much of what is free.
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

// Eight sums side by side: what is waited for is memory, not an addition.
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

// The best of the rounds that fit into half a second, three at least: others use the machine too.
double read_memory(std::span<std::uint64_t> buffer, int threads) {
  constexpr auto kTime = std::chrono::milliseconds(500);
  constexpr int kFewestRounds = 3;
  std::barrier gate(threads + 1);
  std::atomic<bool> over = false;
  std::atomic<std::uint64_t> sink = 0;  // So that nobody may leave the reading out.
  const std::size_t share = buffer.size() / static_cast<std::size_t>(threads);
  const auto reader = [&](std::span<std::uint64_t> own) {
    std::ranges::fill(own, 1);  // Its pages are real, and near the one who reads them.
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
  for (int round = 0; round < kFewestRounds || Clock::now() < until; ++round) {
    const Clock::time_point begin = Clock::now();  // Too early is the safe side of the gate.
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
  if (threads < 1 || threads > kMostThreads) {
    return Error{fmt::format("threads: {} is not from 1 to {}", threads, kMostThreads),
                 ErrorCode::kInvalid};
  }
  const BandwidthKey key = {0, fmt::format("memory, {} threads", threads)};
  if (const auto known = recall_bandwidth(notes, key)) return Bandwidth{*known, true};
  const std::size_t words = buffer_bytes() / 8;
  const std::unique_ptr<std::uint64_t[]> buffer(new (std::nothrow) std::uint64_t[words]);
  if (!buffer)
    return Error{"memory: too little is free to measure its bandwidth", ErrorCode::kSystem};
  const double mib_per_s = read_memory({buffer.get(), words}, threads);
  note_bandwidth(notes, key, mib_per_s);
  return Bandwidth{mib_per_s, false};
}

}  // namespace muster
