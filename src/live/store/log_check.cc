#include "live/store/log_check.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace muster {

namespace {

// The format is described in SQLite's documentation ("WAL file format"). Numbers are big-endian.
constexpr std::size_t kHeader = 32;
constexpr std::size_t kFrameHeader = 24;
constexpr std::uint32_t kMagic = 0x377f0682;  // Odd if checksums use big-endian words.

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    word = word << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return word;
}

std::uint32_t little_endian(std::string_view bytes, std::size_t at) {
  return __builtin_bswap32(big_endian(bytes, at));
}

struct Sum {
  std::uint32_t first = 0;
  std::uint32_t second = 0;

  void add(std::string_view bytes, bool big) {
    const auto word = big ? big_endian : little_endian;
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first += word(bytes, at) + second;
      second += word(bytes, at + 4) + first;
    }
  }
  bool is_at(std::string_view bytes, std::size_t at) const {
    return big_endian(bytes, at) == first && big_endian(bytes, at + 4) == second;
  }
};

struct Log {
  std::string_view bytes;
  std::size_t frame_size = 0;
  std::size_t frames = 0;
  bool big = false;
  Sum sum;  // Checksum of the header; the frames continue it.

  std::string_view frame(std::size_t i) const {
    return bytes.substr(kHeader + i * frame_size, frame_size);
  }
  // The salts of header and frame match if the frame was written since the last reset of the log.
  bool is_of_this_log(std::size_t i) const { return frame(i).substr(8, 8) == bytes.substr(16, 8); }
  bool ends_a_transaction(std::size_t i) const { return big_endian(frame(i), 4) != 0; }

  std::size_t first_broken() const {
    Sum running = sum;
    for (std::size_t i = 0; i < frames; ++i) {
      running.add(frame(i).substr(0, 8), big);
      running.add(frame(i).substr(kFrameHeader), big);
      if (!is_of_this_log(i) || !running.is_at(frame(i), 16)) return i;
    }
    return frames;
  }
};

// Returns false if the checksum of the header is wrong.
bool read_header(Log& log) {
  const std::uint32_t magic = big_endian(log.bytes, 0);
  const std::size_t page = big_endian(log.bytes, 8);
  log.big = (magic & 1) != 0;
  log.sum.add(log.bytes.substr(0, 24), log.big);
  if ((magic & ~1U) != kMagic || !log.sum.is_at(log.bytes, 24) || page < 512 || page > 65536) {
    return false;
  }
  log.frame_size = kFrameHeader + page;
  log.frames = (log.bytes.size() - kHeader) / log.frame_size;
  return true;
}

}  // namespace

MaybeError check_log(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  Log log;
  log.bytes = bytes;
  if (bytes.size() <= kHeader) return std::nullopt;
  if (bytes.find_first_not_of('\0') >= kHeader) return std::nullopt;  // Created, but never synced.
  if (!read_header(log))
    return Error{"damaged: wrong checksum of the header", ErrorCode::kCorrupt, path};

  const std::size_t broken = log.first_broken();
  bool ended = false;  // The transaction with the broken frame has ended.
  for (std::size_t i = broken; i < log.frames; ++i) {
    if (!log.is_of_this_log(i)) continue;
    if (ended) {
      return Error{fmt::format("damaged: wrong checksum at byte {}, before later transactions",
                               kHeader + broken * log.frame_size),
                   ErrorCode::kCorrupt, path};
    }
    ended = log.ends_a_transaction(i);
  }
  return std::nullopt;
}

}  // namespace muster
