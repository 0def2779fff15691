#pragma once

// Files from the outside world: a whole one into memory, or one line that says why not; and the
// open file behind it, for readers that take theirs a piece at a time.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

inline constexpr std::size_t kLargestFile = std::size_t{2} << 30;

enum class Pipes : std::uint8_t { kTaken, kRefused };

// A regular file or a pipe (so /dev/stdin works), open for reading until the object goes. Every
// error begins with the path.
class ReadableFile {
 public:
  // Refuses directories and devices; for a missing file names the nearest one in the same
  // directory. Pipes are for those that a user names; one that lies in a directory would be waited
  // for in vain.
  static Result<ReadableFile> open(const std::string& path, Pipes pipes = Pipes::kTaken);

  ReadableFile(ReadableFile&& other) noexcept;
  ReadableFile& operator=(ReadableFile&& other) noexcept;
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;
  ~ReadableFile();

  // At most so many bytes, perhaps fewer, none only at the end.
  Result<std::size_t> read(char* to, std::size_t most);

  const std::string& path() const { return path_; }
  std::size_t size() const { return size_; }  // When it was opened; 0 of a pipe.

 private:
  ReadableFile(std::string path, int descriptor, std::size_t size);

  std::string path_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

// Reads files and pipes of at most kLargestFile bytes. Refuses what a ReadableFile refuses and what
// begins like a binary file.
Result<std::string> read_text_file(const std::string& path, Pipes pipes = Pipes::kTaken);

// True when the first kilobyte has a byte no text has.
bool looks_binary(std::string_view text);

}  // namespace muster
