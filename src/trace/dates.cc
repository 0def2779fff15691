#include "trace/dates.h"

#include <chrono>
#include <cstddef>
#include <optional>

#include "base/text.h"

namespace muster {

namespace {

constexpr std::string_view kShape = "0000-00-00 00:00:00";

// Digits where the shape has zeros, and otherwise what the shape has.
bool has_shape(std::string_view text, std::string_view shape) {
  if (text.size() != shape.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    const bool fits = shape[i] == '0' ? digit : text[i] == shape[i] || (i == 10 && text[i] == 'T');
    if (!fits) return false;
  }
  return true;
}

int number_at(std::string_view text, std::size_t at, std::size_t length) {
  int number = 0;
  for (const char digit : text.substr(at, length)) number = number * 10 + (digit - '0');
  return number;
}

// Seconds east of Greenwich; empty when it is no zone.
std::optional<std::int64_t> zone_offset(std::string_view zone) {
  if (zone == "Z") return 0;
  if (zone.size() != 6 || !has_shape(zone.substr(1), "00:00")) return std::nullopt;
  const std::int64_t hours = number_at(zone, 1, 2);
  const std::int64_t minutes = number_at(zone, 4, 2);
  if ((zone[0] != '+' && zone[0] != '-') || hours > 14 || minutes > 59) return std::nullopt;
  return (zone[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

}  // namespace

Result<Date> parse_date(std::string_view text) {
  const Error wrong{"not a date and time: " + in_quotes(text) + "; write 2020-06-09 18:41:01"};
  if (!has_shape(text.substr(0, kShape.size()), kShape)) return wrong;
  Date date;
  std::int64_t east = 0;
  if (const std::string_view zone = text.substr(kShape.size()); !zone.empty()) {
    const std::optional<std::int64_t> offset = zone_offset(zone);
    if (!offset) return wrong;
    east = *offset;
    date.has_zone = true;
  }
  namespace chrono = std::chrono;
  const chrono::year_month_day day(chrono::year(number_at(text, 0, 4)),
                                   chrono::month(static_cast<unsigned>(number_at(text, 5, 2))),
                                   chrono::day(static_cast<unsigned>(number_at(text, 8, 2))));
  const std::int64_t hour = number_at(text, 11, 2);
  const std::int64_t minute = number_at(text, 14, 2);
  const std::int64_t second = number_at(text, 17, 2);
  if (!day.ok() || hour > 23 || minute > 59 || second > 59) return wrong;
  if (day.year() < chrono::year(2001) || day.year() > chrono::year(2099)) {
    return Error{"not of the years 2001 to 2099: " + in_quotes(text)};
  }
  const chrono::sys_days start(chrono::year(2001) / 1 / 1);
  const std::int64_t days = (chrono::sys_days(day) - start).count();
  date.seconds = days * 86'400 + hour * 3600 + minute * 60 + second - east;
  return date;
}

}  // namespace muster
