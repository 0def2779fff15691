#include "base/text/utf8.h"

#include <utf8proc.h>

namespace muster {

namespace {

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

bool is_unprintable(char32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    default:
      return false;
  }
}

}  // namespace

Utf8Char first_utf8_char(std::string_view text) {
  if (is_ascii(text[0])) return {static_cast<char32_t>(text[0]), 1, true};
  utf8proc_int32_t code = 0;
  const utf8proc_ssize_t bytes =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (bytes <= 0) return {0xfffd, 1, false};
  return {static_cast<char32_t>(code), static_cast<std::size_t>(bytes), true};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char c = first_utf8_char(text);
    if (!c.valid) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

const char* text_fault(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char c = first_utf8_char(text);
    if ((c.code < 0x20 && c.code != '\t') || c.code == 0x7f) return "control character in text";
    if (!c.valid) return "not UTF-8 text";
    text.remove_prefix(c.bytes);
  }
  return nullptr;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = first_utf8_char(text);
    if (!c.valid) {
      out += "\xef\xbf\xbd";
    } else if (is_unprintable(c.code)) {
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
    const auto code = static_cast<utf8proc_int32_t>(c.code);
    width += c.bytes == 1 ? 1 : static_cast<std::size_t>(utf8proc_charwidth(code));
    text.remove_prefix(c.bytes);
  }
  return width;
}

}  // namespace muster
