#pragma once

// Writes JSON arrays directly into a string, without a JSON tree. For responses of several
// megabytes: the usage and timeline data in api/port.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/time.h"

namespace muster {

// Returns the text as a JSON string with quotes. Invalid UTF-8 becomes U+FFFD.
std::string json_text(std::string_view text);

// Returns the unit of the last of `decimals` decimals of a second, in microseconds.
constexpr std::int64_t unit_of(int decimals) {
  std::int64_t unit = 1'000'000;
  for (int i = 0; i < decimals; ++i) unit /= 10;
  return unit;
}

// Appends microseconds as seconds, rounded to at most `decimals` decimals.
void append_seconds(std::string& out, std::int64_t us, int decimals);

// Appends a number, rounded to at most two decimals.
void append_level(std::string& out, double value);

// Appends "[a,b,c]". Calls write(out, item) for each item.
template <class Items, class Write>
void append_column(std::string& out, const Items& items, Write write) {
  out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ',';
    first = false;
    write(out, item);
  }
  out += ']';
}

}  // namespace muster
