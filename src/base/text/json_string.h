#pragma once

// Writes JSON strings.

#include <string>
#include <string_view>

namespace muster {

// Appends the text as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace muster
