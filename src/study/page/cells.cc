#include "study/page/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text/wording.h"

namespace muster {

namespace {

std::string integer_text(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? "-" + grouped(0 - bits) : grouped(bits);
}

std::string number_text(const Number& number) {
  std::string text = fmt::format("{:.{}f}", number.value, std::max(0, number.decimals));
  const std::size_t first = text[0] == '-' ? 1 : 0;
  if (text.find_first_of("123456789") == std::string::npos) text.erase(0, first);  // No "-0.0".
  const std::size_t begin = text[0] == '-' ? 1 : 0;
  for (std::size_t at = std::min(text.find('.'), text.size()); at > begin + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

}  // namespace

std::optional<std::string> cell_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return integer_text(*integer);
  const auto* number = std::get_if<Number>(&cell);
  if (number == nullptr || !std::isfinite(number->value)) return std::nullopt;
  return number_text(*number);
}

bool is_numeric(const PageTable& table, std::size_t column) {
  bool numbers = false;
  for (const auto& row : table.rows) {
    if (std::holds_alternative<std::string>(row[column])) return false;
    numbers = numbers || !std::holds_alternative<std::monostate>(row[column]);
  }
  return numbers;
}

}  // namespace muster
