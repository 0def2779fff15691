#include "base/text/numbers.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace muster {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<Duration> plain_seconds(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::size_t decimals = text.size() - point;  // Includes the decimal point.
  if (point == 0 || point > 11 || decimals == 1 || decimals > 7) return std::nullopt;
  std::int64_t us = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == point) continue;
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    us = us * 10 + (text[i] - '0');
  }
  for (std::size_t i = decimals == 0 ? 1 : decimals; i < 7; ++i) us *= 10;
  if (us > kLongestDuration.us()) return std::nullopt;
  return Duration::micros(us);
}

}  // namespace muster
