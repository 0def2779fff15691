#pragma once

// Where a reader of something too large to hold takes its bytes from, a piece at a time: a file, a
// pipe, or a text in memory for tests.

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
  // Refuses what a ReadableFile refuses.
  static Result<ByteSource> open(const std::string& path);
  // The text must outlive it; the name stands for the path in messages.
  static ByteSource of(std::string_view text, std::string name);

  // As many bytes as asked for; fewer, perhaps none, only at the end.
  Result<std::size_t> read(char* to, std::size_t most);

  // Called from now on after every read, with the bytes so far and size(): for a progress bar.
  void watch(std::function<void(std::size_t done, std::size_t all)> told) {
    told_ = std::move(told);
  }

  const std::string& name() const { return name_; }
  std::size_t size() const;  // Bytes in all; 0 where that is not known, as of a pipe.

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

// A list of one, for readers that take several.
inline std::vector<ByteSource> only(ByteSource source) {
  std::vector<ByteSource> sources;
  sources.push_back(std::move(source));
  return sources;
}

}  // namespace muster
