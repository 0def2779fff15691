#pragma once

// JSON written without a tree in between, for answers of some megabytes. Inside page/ only.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/time.h"

namespace muster {

// In quotes; bad UTF-8 becomes U+FFFD.
std::string json_text(std::string_view text);

// The microseconds that the last of so many decimals of a second stands for.
constexpr std::int64_t unit_of(int decimals) {
  std::int64_t unit = 1'000'000;
  for (int i = 0; i < decimals; ++i) unit /= 10;
  return unit;
}

// Microseconds as seconds with so many decimals at most, rounded.
void append_seconds(std::string& out, std::int64_t us, int decimals);

// Up to two decimals.
void append_level(std::string& out, double value);

// "[a,b,c]", each written by write(out, item).
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
