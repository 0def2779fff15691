#pragma once

// Splits a large JSON array of objects, such as a log of several gigabytes, into batches. Each
// batch is a small JSON array; only one window of the file is in memory. It finds only the begin
// and end of objects. The parser of a batch validates their content. Parsing batches of some
// hundred objects needs 10% fewer instructions than parsing single objects.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/file/byte_source.h"
#include "base/types/result.h"

namespace muster {

class JsonBatches {
 public:
  // Maximum size of one object. If it is larger, a quote or brace is probably not closed.
  static constexpr std::size_t kLongestObject = std::size_t{16} << 20;
  // Readable bytes after the text of a batch, with any content. SIMD parsers need them.
  static constexpr std::size_t kPadding = 64;
  static constexpr std::size_t kWindow = std::size_t{128} << 10;

  explicit JsonBatches(ByteSource source, std::size_t window = kWindow);

  // Advances to the next batch; returns false at the end of the array. An error is one line, "file:
  // byte N: job K: what"; do not call it again after that. Bytes count from 0, jobs from 1.
  Result<bool> next();

  // The batch, such as "[{...},{...}]". Valid until the next call of next().
  std::string_view text() const { return text_; }
  // The objects of the batch (at least one), as parts of text().
  const std::vector<std::string_view>& objects() const { return objects_; }
  std::int64_t objects_before() const { return before_; }  // Number in earlier batches.
  std::int64_t bytes_before() const { return offset_of(text_.data()); }
  const ByteSource& source() const { return source_; }

  // Returns an error of the parser of the batch in the same form. `at` points into text().
  Error fail_at(const char* at, std::string_view what) const;

 private:
  std::int64_t offset_of(const char* at) const { return base_ + (at - buffer_.data()); }
  Error fail(std::string_view what) const;  // Error at the next byte, between objects.
  Error fail_in_job(std::int64_t byte, std::int64_t job, std::string_view what) const;
  Result<bool> more();          // Reads more bytes, keeps the unused ones; false at the end.
  Result<char> next_sign();     // Skips blanks and returns the next byte; '\0' at the end.
  MaybeError begin();           // Consumes the opening bracket of the array.
  Result<bool> go_to_object();  // Consumes the comma; returns false at the closing bracket.
  MaybeError check_end();       // Checks that only blanks follow the array.
  bool take_object();           // Returns false if the object is not completely in the buffer.
  bool at_another_object();     // Advances to the next object if the buffer has its begin.
  MaybeError take_first_object();

  ByteSource source_;
  // Byte 0 is spare, so that there is always a byte before an object for the opening bracket.
  std::vector<char> buffer_;
  std::size_t at_ = 1;      // First unused byte.
  std::size_t filled_ = 1;  // End of the data; the buffer has at least kPadding more bytes.
  std::int64_t base_ = -1;  // Offset of buffer_[0] in the file.
  std::int64_t before_ = 0;
  bool begun_ = false;
  std::vector<std::string_view> objects_;
  std::string_view text_;
  char covered_ = '\0';  // The byte that the closing bracket of text_ replaced.
};

// Returns the length of the object at the begin of the text, or npos if it does not end in the
// text. Checks only quotes and braces. Reads up to 63 bytes after the text; their content is
// irrelevant.
std::size_t json_object_length(std::string_view text);

}  // namespace muster
