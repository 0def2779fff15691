#include "exec/slurm/marked_table.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/text/text.h"

namespace muster {
namespace {

using Row = std::vector<std::string_view>;
constexpr std::size_t kMarkDigits = 16;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// No free text comes before the first mark.
std::string_view mark_of(std::string_view text) {
  const std::size_t begin = text.find('|');
  if (begin == std::string_view::npos || text.substr(0, begin).find('\n') < begin) return {};
  const std::string_view mark = text.substr(begin, kMarkDigits + 2);
  const bool marked = mark.size() == kMarkDigits + 2 && mark.back() == '|' &&
                      std::all_of(mark.begin() + 1, mark.end() - 1, is_hex);
  return marked ? mark : text.substr(begin, 1);
}

std::vector<Row> rows_by_mark(std::string_view text, std::string_view mark, std::size_t columns) {
  std::vector<Row> rows;
  Row row;
  while (!text.empty()) {
    const std::size_t end = text.find(mark);
    if (end == std::string_view::npos) break;
    row.push_back(text.substr(0, end));
    text.remove_prefix(end + mark.size());
    if (row.size() < columns) continue;  // A field can begin with a newline.
    if (!text.empty() && !text.starts_with('\n')) break;
    text.remove_prefix(std::min<std::size_t>(text.size(), 1));
    rows.push_back(std::move(row));
    row.clear();
  }
  return rows;
}

std::vector<Row> rows_by_line(std::string_view text, std::size_t columns) {
  std::vector<Row> rows;
  for (std::string_view line : split(text, '\n')) {
    if (!line.ends_with('|')) continue;
    line.remove_suffix(1);
    Row row;
    while (row.size() + 1 < columns) {
      const std::size_t end = line.find('|');
      if (end == std::string_view::npos) break;
      row.push_back(line.substr(0, end));
      line.remove_prefix(end + 1);
    }
    row.push_back(line);
    if (row.size() == columns) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string random_mark() {
  std::uint64_t number = 0;
  // Cannot fail for a few bytes after the machine has booted.
  const ssize_t got = ::getrandom(&number, sizeof number, 0);
  static_cast<void>(got);
  return fmt::format("|{:016x}|", number);
}

std::string marked_format(const std::vector<std::string_view>& fields, const std::string& mark) {
  std::string format;
  for (const std::string_view field : fields) {
    if (!format.empty()) format += ',';
    format += fmt::format("{}:{}", field, mark);
  }
  return format;
}

Result<std::vector<Row>> read_marked(std::string_view text, std::size_t columns,
                                     std::string_view command) {
  if (trim(text).empty()) return std::vector<Row>();
  const std::string_view mark = mark_of(text);
  std::vector<Row> rows;
  if (mark.size() > 1) rows = rows_by_mark(text, mark, columns);
  if (mark.size() == 1) rows = rows_by_line(text, columns);
  if (rows.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    return Error{fmt::format("{}: unexpected output: {}", command, in_quotes(line)),
                 ErrorCode::kCorrupt};
  }
  return rows;
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

std::int64_t slurm_number(std::string_view text) {
  std::int64_t factor = 1;
  for (const char unit : {'K', 'M', 'G', 'T'}) {
    factor *= 1024;
    if (!text.ends_with(unit)) continue;
    const auto number = parse_number(text.substr(0, text.size() - 1));
    if (!number.ok() || number.value() < 0 || number.value() > 1e6) return -1;
    return static_cast<std::int64_t>(number.value() * static_cast<double>(factor));
  }
  const auto number = parse_int(text);
  return number.ok() && number.value() >= 0 ? number.value() : -1;
}

}  // namespace muster
