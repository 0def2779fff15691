#pragma once

// Reads input files: a whole text file into memory, or an open file piece by piece.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

// The largest file that read_text_file() accepts, in bytes.
inline constexpr std::size_t kLargestFile = std::size_t{2} << 30;

// Whether open() accepts a named pipe.
enum class Pipes : std::uint8_t { kTaken, kRefused };

// A regular file or a pipe (so /dev/stdin works), open for reading. The destructor closes it. Every
// error message begins with the path.
class ReadableFile {
 public:
  // Rejects directories and devices. The error for a missing file suggests a similar name in the
  // same directory. Use kRefused for files that the user did not name: a read from a pipe could
  // block forever.
  static Result<ReadableFile> open(const std::string& path, Pipes pipes = Pipes::kTaken);

  ReadableFile(ReadableFile&& other) noexcept;
  ReadableFile& operator=(ReadableFile&& other) noexcept;
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;
  ~ReadableFile();

  // Reads up to `most` bytes into `to` and returns the number read; 0 only at the end.
  Result<std::size_t> read(char* to, std::size_t most);

  const std::string& path() const { return path_; }
  std::size_t size() const { return size_; }  // In bytes, when it was opened; 0 for a pipe.

 private:
  ReadableFile(std::string path, int descriptor, std::size_t size);

  std::string path_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

// Returns the content of a file or pipe of at most kLargestFile bytes. Fails if
// ReadableFile::open() fails or if looks_binary() is true for the content.
Result<std::string> read_text_file(const std::string& path, Pipes pipes = Pipes::kTaken);

// Whether the first kilobyte contains a byte that does not occur in text.
bool looks_binary(std::string_view text);

}  // namespace muster
