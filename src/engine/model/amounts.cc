// Amounts of CPU and memory as people write them.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/text/text.h"
#include "engine/model/job_request.h"

namespace muster {

namespace {

constexpr double kTooMuch = 1e15;  // Of MiB or of thousandths: far from where doubles round.

struct Unit {
  char letter;
  double mib;
};
constexpr std::array<Unit, 4> kUnits = {
    {{'K', 1.0 / 1024}, {'M', 1}, {'G', 1024}, {'T', 1024.0 * 1024}}};

// Of "G", "GB" and "GiB", in any case; zero: it is none.
double mib_of(std::string_view unit) {
  if (unit.empty()) return 0;
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; };
  const std::string_view behind = unit.substr(1);
  const bool bytes = behind.empty() || (behind.size() == 1 && upper(behind[0]) == 'B') ||
                     (behind.size() == 2 && upper(behind[0]) == 'I' && upper(behind[1]) == 'B');
  for (const Unit& each : kUnits) {
    if (bytes && each.letter == upper(unit[0])) return each.mib;
  }
  return 0;
}

}  // namespace

Result<MemAmount> parse_mem(std::string_view text, std::string_view bare_unit) {
  const std::size_t end = text.find_last_of("0123456789.");
  const std::size_t digits = end == std::string_view::npos ? 0 : end + 1;
  std::string_view unit = text.substr(digits);
  if (unit.empty()) unit = bare_unit;
  const Result<double> number = parse_number(text.substr(0, digits));
  if (!number.ok()) return Error{"not a size such as 64G or 512M: " + in_quotes(text)};
  if (unit.empty()) {
    return Error{fmt::format("no unit: {}; write {}G or {}M", in_quotes(text), text, text)};
  }
  const double mib = mib_of(unit);
  if (mib == 0) {
    return Error{
        fmt::format("unknown unit {} in {}; K, M, G or T", in_quotes(unit), in_quotes(text))};
  }
  const double amount = std::ceil(number.value() * mib);
  if (!(std::abs(amount) < kTooMuch)) return Error{"too much: " + in_quotes(text)};
  return MemAmount{static_cast<std::int64_t>(amount)};
}

std::string mem_text(MemAmount mem) {
  return mem.mib % 1024 == 0 ? fmt::format("{}G", mem.mib / 1024) : fmt::format("{}M", mem.mib);
}

Result<CpuAmount> parse_cpus(std::string_view text) {
  const Result<double> number = parse_number(text);
  if (!number.ok()) return number.error();
  const double milli = number.value() * 1000;
  if (!(std::abs(milli) < kTooMuch)) return Error{"too many: " + in_quotes(text)};
  if (std::abs(milli - std::round(milli)) > 1e-6) {
    return Error{"finer than a thousandth of a CPU: " + in_quotes(text)};
  }
  return CpuAmount{static_cast<std::int64_t>(std::round(milli))};
}

std::string cpus_text(CpuAmount cpus) {
  return fmt::format("{}", static_cast<double>(cpus.milli) / 1000);
}

}  // namespace muster
