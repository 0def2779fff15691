#include "base/text/wording.h"

#include <fmt/format.h>

#include <cmath>

#include "base/types/check.h"

namespace muster {

std::string grouped(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::int64_t in_millionths(double value) {
  MUSTER_CHECK(std::isfinite(value) && std::abs(value) <= 9e12);
  return std::llround(value * 1e6);
}

}  // namespace muster
