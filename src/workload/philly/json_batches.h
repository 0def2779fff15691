#pragma once

// Cuts a JSON array of objects, such as a log of gigabytes, into batches that are small JSON arrays
// themselves, holding no more of it than a window. Finds where objects begin and end and leaves
// what is inside them to a parser: what is wrong there, the parser will find. Batches rather than
// single objects, because a parser that takes some hundred at once needs a tenth fewer
// instructions.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/file/byte_source.h"
#include "base/types/result.h"

namespace muster {

class JsonBatches {
 public:
  // Of one object. Longer means, more likely, that a quote or a brace is not closed.
  static constexpr std::size_t kLongestObject = std::size_t{16} << 20;
  // Bytes that may be read, whatever they are, after a batch's text: parsers want them.
  static constexpr std::size_t kPadding = 64;
  static constexpr std::size_t kWindow = std::size_t{128} << 10;

  explicit JsonBatches(ByteSource source, std::size_t window = kWindow);

  // Goes to the next batch; false after the array's end. The error is one line, "file: byte N: job
  // K: what", and then there is no way on. Bytes count from 0, jobs from 1.
  Result<bool> next();

  // "[{...},{...}]": good until the next next().
  std::string_view text() const { return text_; }
  // Its objects, of which there is at least one, as parts of text().
  const std::vector<std::string_view>& objects() const { return objects_; }
  std::int64_t objects_before() const { return before_; }  // In earlier batches.
  std::int64_t bytes_before() const { return offset_of(text_.data()); }
  const ByteSource& source() const { return source_; }

  // The error of whoever parses the batch, in the same form; `at` points into text().
  Error fail_at(const char* at, std::string_view what) const;

 private:
  std::int64_t offset_of(const char* at) const { return base_ + (at - buffer_.data()); }
  Error fail(std::string_view what) const;  // At the next byte, between objects.
  Error fail_in_job(std::int64_t byte, std::int64_t job, std::string_view what) const;
  Result<bool> more();          // Reads on, keeping what is not used up; false at the end.
  Result<char> next_sign();     // The next byte but for blanks, not used up; '\0' at the end.
  Refusal begin();              // The array's opening bracket.
  Result<bool> go_to_object();  // Past the comma; false at the closing bracket.
  Refusal check_end();          // Nothing but blanks after the array.
  bool take_object();           // False if the buffer does not have all of it.
  bool at_another_object();     // Past the comma, if the buffer has that much; else goes nowhere.
  Refusal take_first_object();

  ByteSource source_;
  // Byte 0 is spare, so that there is always one before an object to put a bracket on.
  std::vector<char> buffer_;
  std::size_t at_ = 1;      // What is before it is used up.
  std::size_t filled_ = 1;  // The buffer is longer by kPadding at least.
  std::int64_t base_ = -1;  // Of the buffer in the file.
  std::int64_t before_ = 0;
  bool begun_ = false;
  std::vector<std::string_view> objects_;
  std::string_view text_;
  char covered_ = '\0';  // What was where text_ has its closing bracket.
};

// Length of the object that begins the text, or npos if it does not end in it. Quotes and braces
// are all it looks at. Up to 63 bytes beyond the text are read, and do not matter.
std::size_t json_object_length(std::string_view text);

}  // namespace muster
