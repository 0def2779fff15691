// Parsing and formatting of CPU and memory amounts, such as "0.5" and "64G".

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/text/text.h"
#include "engine/model/job_request.h"

namespace muster {

namespace {

// Limit in MiB or milli-CPUs. Doubles represent all whole numbers below it exactly.
constexpr double kTooMuch = 1e15;

struct Unit {
  char letter;
  double mib;
};
constexpr std::array<Unit, 4> kUnits = {
    {{'K', 1.0 / 1024}, {'M', 1}, {'G', 1024}, {'T', 1024.0 * 1024}}};

// Returns the MiB per unit for "G", "GB" or "GiB" in any case, or 0 if the unit is unknown.
double mib_of(std::string_view unit) {
  if (unit.empty()) return 0;
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; };
  const std::string_view suffix = unit.substr(1);
  const bool bytes = suffix.empty() || (suffix.size() == 1 && upper(suffix[0]) == 'B') ||
                     (suffix.size() == 2 && upper(suffix[0]) == 'I' && upper(suffix[1]) == 'B');
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
        fmt::format("unknown unit {} in {}; use K, M, G or T", in_quotes(unit), in_quotes(text))};
  }
  const double amount = std::ceil(number.value() * mib);
  if (!(std::abs(amount) < kTooMuch)) return Error{"too large: " + in_quotes(text)};
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
    return Error{"not a multiple of 0.001 CPUs: " + in_quotes(text)};
  }
  return CpuAmount{static_cast<std::int64_t>(std::round(milli))};
}

std::string cpus_text(CpuAmount cpus) {
  return fmt::format("{}", static_cast<double>(cpus.milli) / 1000);
}

}  // namespace muster
