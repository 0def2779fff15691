#pragma once

// Iterates over the lines of a text that is too large for memory. It holds one block at a time.

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
  // Number of readable bytes after a line. The first belongs to the line end, the others are
  // arbitrary.
  static constexpr std::size_t kPadding = 16;

  // REQUIRES: `block` is larger than kLongestLine.
  explicit LineStream(ByteSource source, std::size_t block = kBlock);

  // Moves to the next line; false at the end. Fails for a line longer than kLongestLine.
  Result<bool> next();

  // The current line without its end (\n or \r\n) and without a byte order mark. Valid until the
  // following call of next().
  std::string_view line() const { return line_; }
  std::int64_t number() const { return number_; }  // The first line is 1.

  // Returns the error "file:line: what".
  Error fail(std::string_view what) const;

 private:
  Result<bool> more();  // Reads the next block and keeps unused bytes; false at the end.
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
