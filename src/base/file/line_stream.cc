#include "base/file/line_stream.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/file/csv.h"

namespace muster {

LineStream::LineStream(ByteSource source, std::size_t block)
    : source_(std::move(source)), buffer_(block + kPadding) {}

Error LineStream::fail(std::string_view what) const {
  return {fmt::format("{}:{}: {}", source_.name(), number_, what)};
}

Result<bool> LineStream::more() {
  std::memmove(buffer_.data(), buffer_.data() + at_, filled_ - at_);
  filled_ -= at_;
  at_ = 0;
  const Result<std::size_t> got =
      source_.read(buffer_.data() + filled_, buffer_.size() - kPadding - filled_);
  if (!got.ok()) return got.error();
  filled_ += got.value();
  return got.value() > 0;
}

void LineStream::take(std::size_t length) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  line_ = std::string_view(buffer_.data() + at_, length);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  if (++number_ == 1 && line_.starts_with(kByteOrderMark)) {
    line_.remove_prefix(kByteOrderMark.size());
  }
}

Error LineStream::too_long() {
  ++number_;
  return fail(fmt::format("line longer than {} bytes", kLongestLine));
}

Result<bool> LineStream::next() {
  while (true) {
    const char* const begin = buffer_.data() + at_;
    const std::size_t left = filled_ - at_;
    const void* const end = left == 0 ? nullptr : std::memchr(begin, '\n', left);
    if (end != nullptr) {
      const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - begin);
      if (length > kLongestLine) return too_long();
      take(length);
      at_ += length + 1;
      return true;
    }
    if (left > kLongestLine) return too_long();
    const Result<bool> got = more();
    if (!got.ok()) return got.error();
    if (got.value()) continue;
    if (filled_ == 0) return false;
    buffer_[filled_] = '\n';  // Ends the last line, which has old bytes after it.
    take(filled_);
    at_ = filled_;
    return true;
  }
}

}  // namespace muster
