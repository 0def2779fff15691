#include "base/file/byte_source.h"

#include <algorithm>
#include <utility>

namespace muster {

ByteSource::ByteSource(std::string name, std::variant<ReadableFile, Text> from)
    : name_(std::move(name)), from_(std::move(from)) {}

Result<ByteSource> ByteSource::open(const std::string& path) {
  Result<ReadableFile> file = ReadableFile::open(path);
  if (!file.ok()) return file.error();
  return ByteSource(path, std::move(file).value());
}

ByteSource ByteSource::of(std::string_view text, std::string name) {
  return ByteSource(std::move(name), Text{text, text.size()});
}

Result<std::size_t> ByteSource::read(char* to, std::size_t most) {
  Result<std::size_t> got = take(to, most);
  if (told_ && got.ok()) {
    done_ += got.value();
    told_(done_, size());
  }
  return got;
}

Result<std::size_t> ByteSource::take(char* to, std::size_t most) {
  if (Text* text = std::get_if<Text>(&from_)) {
    const std::size_t taken = std::min(most, text->left.size());
    std::copy_n(text->left.data(), taken, to);
    text->left.remove_prefix(taken);
    return taken;
  }
  std::size_t filled = 0;
  while (filled < most) {
    const Result<std::size_t> got = std::get<ReadableFile>(from_).read(to + filled, most - filled);
    if (!got.ok()) return got.error();
    if (got.value() == 0) break;
    filled += got.value();
  }
  return filled;
}

std::size_t ByteSource::size() const {
  if (const Text* text = std::get_if<Text>(&from_)) return text->size;
  return std::get<ReadableFile>(from_).size();
}

}  // namespace muster
