#pragma once

// Formats HTTP response heads and JSON strings.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

struct Head {
  int status = 200;
  std::string_view content_type = "application/json";
  std::optional<std::uint64_t> length;  // Absent: the body ends with the connection.
  std::string_view headers;             // Further lines, each with its line end.
  bool keep_alive = true;
};

// Returns the status line and headers, including the empty line at the end.
std::string head_text(const Head& head);

// Returns `bytes` as a JSON string. Invalid UTF-8 becomes U+FFFD.
std::string json_string(std::string_view bytes);

}  // namespace muster
