#pragma once

// The lines of a text too large to hold, one at a time: only a block of it is in memory.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/file/byte_source.h"
#include "base/types/result.h"

namespace muster {

class LineStream {
 public:
  static constexpr std::size_t kBlock = std::size_t{256} << 10;
  static constexpr std::size_t kLongestLine = std::size_t{64} << 10;
  // Bytes that may be read after a line. The first of them is of its end, the others are anything.
  static constexpr std::size_t kPadding = 16;

  // The block must be longer than the longest line.
  explicit LineStream(ByteSource source, std::size_t block = kBlock);

  // Goes to the next line; false at the end. Refuses lines longer than kLongestLine.
  Result<bool> next();

  // Without its end, \n or \r\n, and without a byte order mark; good until the next next().
  std::string_view line() const { return line_; }
  std::int64_t number() const { return number_; }  // The first line is 1.

  // "file:line: what".
  Error fail(std::string_view what) const;

 private:
  Result<bool> more();  // Reads on, keeping what is not used up; false at the end.
  void take(std::size_t length);
  Error too_long();

  ByteSource source_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  std::int64_t number_ = 0;
  std::string_view line_;
};

}  // namespace muster
