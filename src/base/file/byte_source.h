#pragma once

// A stream of bytes from a file, a pipe or, in tests, a text in memory. For readers of input that
// is too large for memory.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/file/text_file.h"
#include "base/types/result.h"

namespace muster {

class ByteSource {
 public:
  // Fails like ReadableFile::open().
  static Result<ByteSource> open(const std::string& path);
  // Reads from memory. The text must outlive the source. Messages show `name` as the path.
  static ByteSource of(std::string_view text, std::string name);

  // Reads `most` bytes into `to` and returns the number read; fewer, or 0, only at the end.
  Result<std::size_t> read(char* to, std::size_t most);

  // Calls the callback after every successful read with the bytes read since watch() and size().
  // For a progress bar.
  void watch(std::function<void(std::size_t done, std::size_t all)> told) {
    told_ = std::move(told);
  }

  const std::string& name() const { return name_; }
  std::size_t size() const;  // Total bytes; 0 if unknown, as for a pipe.

 private:
  struct Text {
    std::string_view left;
    std::size_t size;
  };
  ByteSource(std::string name, std::variant<ReadableFile, Text> from);
  Result<std::size_t> take(char* to, std::size_t most);

  std::string name_;
  std::variant<ReadableFile, Text> from_;
  std::size_t done_ = 0;
  std::function<void(std::size_t, std::size_t)> told_;
};

// Returns a list with one source, for readers that accept several.
inline std::vector<ByteSource> only(ByteSource source) {
  std::vector<ByteSource> sources;
  sources.push_back(std::move(source));
  return sources;
}

}  // namespace muster
