#include "base/text/json_string.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

#include "base/text/utf8.h"

namespace muster {

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  const auto as_it_is = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && as_it_is(text[plain])) ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Utf8Char c = first_utf8_char(text);
    if (c.code == '"' || c.code == '\\') {
      out += '\\';
      out += static_cast<char>(c.code);
    } else if (c.code < 0x20 || c.code == 0x7f || !c.valid) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<std::uint32_t>(c.code));
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  out += '"';
}

}  // namespace muster
