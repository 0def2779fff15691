#include "base/text/columns.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/wording.h"

namespace muster {

std::string json_text(std::string_view text) {
  const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), plain)) return '"' + std::string(text) + '"';
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_seconds(std::string& out, std::int64_t us, int decimals) {
  const std::int64_t unit = unit_of(decimals);
  const bool minus = us < 0;
  const std::int64_t units = ((minus ? -us : us) + unit / 2) / unit;
  if (minus && units > 0) out += '-';
  append_millionths(out, units * unit);
}

void append_level(std::string& out, double value) {
  append_seconds(out, std::llround(value * 1e6), 2);
}

}  // namespace muster
