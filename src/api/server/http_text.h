#pragma once

// The server's half of HTTP as text: the head of an answer, and JSON strings.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

struct Head {
  int status = 200;
  std::string_view content_type = "application/json";
  std::optional<std::uint64_t> length;  // None: until the connection ends.
  std::string_view headers;             // Further lines, each with its end.
  bool keep_alive = true;
};

// With the empty line that ends it.
std::string head_text(const Head& head);

// As a JSON string. What is not UTF-8 is replaced by U+FFFD.
std::string json_string(std::string_view bytes);

}  // namespace muster
