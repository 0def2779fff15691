#include "report/wording.h"

#include <fmt/format.h>

#include <cmath>

#include "base/check.h"

namespace muster {

namespace {

struct Range {
  char32_t first, last;
};

template <std::size_t kSize>
bool in_any(char32_t code, const Range (&ranges)[kSize]) {
  for (const Range& range : ranges) {
    if (code >= range.first && code <= range.last) return true;
  }
  return false;
}

// Controls, zero-width characters, and those that change the direction of writing.
constexpr Range kUnprintable[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x200b, 0x200f},
                                  {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff},
                                  {0xfffe, 0xffff}};  // No characters, and not XML.
constexpr Range kCombining[] = {
    {0x300, 0x36f}, {0x1ab0, 0x1aff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0xa4cf},
                           {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
                           {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                           {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

}  // namespace

Utf8Char first_utf8_char(std::string_view text) {
  constexpr Utf8Char kBad = {0xfffd, 1, false};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return kBad;
  char32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return kBad;
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  const bool too_long = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (too_long || surrogate || code > 0x10ffff) return kBad;
  return {code, bytes, true};
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = first_utf8_char(text);
    if (!c.valid) {
      out += "\xef\xbf\xbd";
    } else if (in_any(c.code, kUnprintable)) {
      out += '?';
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Utf8Char c = first_utf8_char(text);
    if (c.code < 0x300) {
      ++width;
    } else if (!in_any(c.code, kCombining)) {
      width += in_any(c.code, kWide) ? 2 : 1;
    }
    text.remove_prefix(c.bytes);
  }
  return width;
}

std::string grouped(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

void append_millionths(std::string& out, std::int64_t millionths) {
  auto size = static_cast<std::uint64_t>(millionths);
  if (millionths < 0) {
    out += '-';
    size = 0 - size;
  }
  const fmt::format_int whole(size / 1'000'000);
  out.append(whole.data(), whole.size());
  std::uint64_t rest = size % 1'000'000;
  if (rest == 0) return;
  char digits[7] = {'.'};
  std::size_t length = 1;
  for (std::uint64_t unit = 100'000; rest != 0; unit /= 10) {
    digits[length++] = static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
  out.append(digits, length);
}

std::int64_t in_millionths(double value) {
  MUSTER_CHECK(std::isfinite(value) && std::abs(value) <= 9e12);
  return std::llround(value * 1e6);
}

}  // namespace muster
