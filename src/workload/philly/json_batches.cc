#include "workload/philly/json_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/file/byte_scan.h"
#include "base/text/text.h"

namespace muster {

namespace {

constexpr std::size_t kBlock = 64;  // Bytes per step; each byte is one bit of a 64-bit word.

// Bit i of the result is 1 if an odd number of the bits 0 to i are set.
std::uint64_t odd_so_far(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

// Bit i of the result is 1 if byte i follows a backslash that is not escaped. `carry` is the state
// between blocks.
std::uint64_t escaped_bytes(std::uint64_t backslashes, bool& carry) {
  std::uint64_t escaped = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    if (carry) {
      escaped |= std::uint64_t{1} << i;
      carry = false;
    } else {
      carry = (backslashes >> i & 1) != 0;
    }
  }
  return escaped;
}

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

std::size_t json_object_length(std::string_view text) {
  std::uint64_t in_text = 0;  // All bits set while inside quotes.
  bool escaping = false;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); at += kBlock) {
    const char* const block = text.data() + at;
    std::uint64_t quotes = equal_in_64(block, '"');
    const std::uint64_t backslashes = equal_in_64(block, '\\');
    if (backslashes != 0 || escaping) quotes &= ~escaped_bytes(backslashes, escaping);
    const std::uint64_t inside = odd_so_far(quotes) ^ in_text;
    in_text = std::uint64_t{0} - (inside >> 63);
    std::uint64_t outside = ~inside;
    if (text.size() - at < kBlock) outside &= (std::uint64_t{1} << (text.size() - at)) - 1;
    const std::uint64_t opening = equal_in_64(block, '{') & outside;
    const std::uint64_t closing = equal_in_64(block, '}') & outside;
    if (depth > std::popcount(closing)) {  // The object cannot end in this block.
      depth += std::popcount(opening) - std::popcount(closing);
      continue;
    }
    for (std::uint64_t left = opening | closing; left != 0; left &= left - 1) {
      const int i = std::countr_zero(left);
      depth += block[i] == '{' ? 1 : -1;
      if (depth == 0) return at + static_cast<std::size_t>(i) + 1;
    }
  }
  return std::string_view::npos;
}

JsonBatches::JsonBatches(ByteSource source, std::size_t window)
    : source_(std::move(source)), buffer_(1 + window + kPadding) {}

Error JsonBatches::fail(std::string_view what) const {
  return {fmt::format("{}: byte {}: {}", source_.name(), offset_of(&buffer_[at_]), what)};
}

Error JsonBatches::fail_in_job(std::int64_t byte, std::int64_t job, std::string_view what) const {
  return {fmt::format("{}: byte {}: job {}: {}", source_.name(), byte, job, what)};
}

Error JsonBatches::fail_at(const char* at, std::string_view what) const {
  std::int64_t job = before_ + 1;
  for (std::size_t i = 1; i < objects_.size() && objects_[i].data() <= at; ++i) ++job;
  return fail_in_job(offset_of(at), job, what);
}

Result<bool> JsonBatches::more() {
  if (at_ > 1) {
    std::memmove(&buffer_[1], &buffer_[at_], filled_ - at_);
    base_ += static_cast<std::int64_t>(at_ - 1);
    filled_ -= at_ - 1;
    at_ = 1;
  } else if (filled_ + kPadding == buffer_.size()) {
    buffer_.resize(std::min(2 * filled_, 1 + kLongestObject) + kPadding);
  }
  const Result<std::size_t> got =
      source_.read(&buffer_[filled_], buffer_.size() - kPadding - filled_);
  if (!got.ok()) return got.error();
  filled_ += got.value();
  return got.value() > 0;
}

Result<char> JsonBatches::next_sign() {
  while (true) {
    while (at_ < filled_ && is_blank(buffer_[at_])) ++at_;
    if (at_ < filled_) return buffer_[at_];
    const Result<bool> got = more();
    if (!got.ok()) return got.error();
    if (!got.value()) return '\0';
  }
}

MaybeError JsonBatches::begin() {
  if (const Result<bool> got = more(); !got.ok()) return got.error();
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (std::string_view(&buffer_[at_], filled_ - at_).starts_with(kByteOrderMark)) {
    at_ += kByteOrderMark.size();
  }
  const Result<char> sign = next_sign();
  if (!sign.ok()) return sign.error();
  if (at_ == filled_) return fail("the file is empty");
  if (sign.value() != '[') return fail("not a JSON array: does not begin with '['");
  ++at_;
  begun_ = true;
  return std::nullopt;
}

Result<bool> JsonBatches::go_to_object() {
  Result<char> sign = next_sign();
  if (!sign.ok()) return sign.error();
  if (sign.value() == ']') return false;
  if (before_ > 0 && at_ < filled_) {
    if (sign.value() != ',') return fail("expected ',' or ']' after a job");
    ++at_;
    sign = next_sign();
    if (!sign.ok()) return sign.error();
  }
  if (at_ == filled_) return fail("the file ends before the array");
  if (sign.value() != '{') {
    return fail("not a job: does not begin with '{': " + in_quotes({&buffer_[at_], 1}));
  }
  return true;
}

MaybeError JsonBatches::check_end() {
  ++at_;  // The closing bracket.
  const Result<char> sign = next_sign();
  if (!sign.ok()) return sign.error();
  if (at_ < filled_) return fail("unexpected text after the end of the array");
  return std::nullopt;
}

bool JsonBatches::take_object() {
  const std::string_view rest(&buffer_[at_], filled_ - at_);
  const std::size_t length = json_object_length(rest);
  if (length == std::string_view::npos) return false;
  objects_.push_back(rest.substr(0, length));
  at_ += length;
  return true;
}

bool JsonBatches::at_another_object() {
  std::size_t ahead = at_;
  while (ahead < filled_ && is_blank(buffer_[ahead])) ++ahead;
  if (ahead == filled_ || buffer_[ahead] != ',') return false;
  do ++ahead;
  while (ahead < filled_ && is_blank(buffer_[ahead]));
  if (ahead == filled_ || buffer_[ahead] != '{') return false;
  at_ = ahead;
  return true;
}

MaybeError JsonBatches::take_first_object() {
  while (!take_object()) {
    const std::int64_t begin = offset_of(&buffer_[at_]);
    if (filled_ - at_ >= kLongestObject) {
      return fail_in_job(
          begin, before_ + 1,
          fmt::format("longer than {} MiB: a quote or brace is not closed", kLongestObject >> 20));
    }
    const Result<bool> got = more();
    if (!got.ok()) return got.error();
    if (!got.value()) {
      return fail_in_job(offset_of(&buffer_[filled_]), before_ + 1,
                         fmt::format("the file ends inside the job that begins at byte {}", begin));
    }
  }
  return std::nullopt;
}

Result<bool> JsonBatches::next() {
  if (!begun_) {
    if (const MaybeError refusal = begin()) return *refusal;
  }
  if (!text_.empty()) buffer_[at_] = covered_;
  before_ += static_cast<std::int64_t>(objects_.size());
  objects_.clear();
  text_ = {};
  const Result<bool> there = go_to_object();
  if (!there.ok()) return there.error();
  if (!there.value()) {
    if (const MaybeError refusal = check_end()) return *refusal;
    return false;
  }
  if (const MaybeError refusal = take_first_object()) return *refusal;
  std::size_t end = at_;
  while (at_another_object() && take_object()) end = at_;
  at_ = end;
  covered_ = std::exchange(buffer_[end], ']');
  const auto begin = static_cast<std::size_t>(objects_.front().data() - buffer_.data()) - 1;
  buffer_[begin] = '[';
  text_ = std::string_view(&buffer_[begin], end + 1 - begin);
  return true;
}

}  // namespace muster
