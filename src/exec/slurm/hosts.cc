// Parses node lists of Slurm: "n[1-3,07],gpu-a", also with several pairs of brackets.

#include <fmt/format.h>

#include "base/text/text.h"
#include "exec/slurm/slurm.h"

namespace muster {
namespace {

constexpr std::size_t kMaxDigits = 9;
constexpr std::size_t kMaxName = 255;

Error bad(std::string_view what, std::string_view list) {
  return Error{fmt::format("nodes: {}: {}", what, in_quotes(list)), ErrorCode::kInvalid};
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.size() <= kMaxDigits &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Expands "1-3,07" to "1", "2", "3", "07".
Result<std::vector<std::string>> numbers(std::string_view ranges, std::size_t most) {
  std::vector<std::string> all;
  for (const std::string_view range : split(ranges, ',')) {
    const std::size_t dash = range.find('-');
    const std::string_view first = range.substr(0, dash);
    const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
    if (!all_digits(first) || !all_digits(last)) return bad("not a number range", range);
    const std::int64_t from = parse_int(first).value();
    const std::int64_t to = parse_int(last).value();
    if (to < from) return bad("range ends before it begins", range);
    if (static_cast<std::size_t>(to - from) >= most - all.size()) return bad("too many", ranges);
    for (std::int64_t i = from; i <= to; ++i) {
      all.push_back(fmt::format("{:0{}}", i, first.size()));
    }
  }
  return all;
}

// Expands one entry without commas outside brackets.
Result<std::vector<std::string>> expand_one(std::string_view entry, std::size_t most) {
  std::vector<std::string> names = {""};
  std::string_view rest = entry;
  while (!rest.empty()) {
    const std::size_t open = rest.find('[');
    for (std::string& name : names) name += rest.substr(0, open);
    if (names[0].size() > kMaxName) return bad("a name is too long", entry);
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find(']', open);
    if (close == std::string_view::npos) return bad("missing closing bracket", entry);
    const auto values = numbers(rest.substr(open + 1, close - open - 1), most);
    if (!values.ok()) return values.error();
    if (names.size() > most / values.value().size()) return bad("too many", entry);
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& value : values.value()) longer.push_back(name + value);
    }
    names = std::move(longer);
    rest.remove_prefix(close + 1);
  }
  for (const std::string& name : names) {
    if (name.empty() || name.find_first_of("] \t\n") != std::string::npos) {
      return bad("not a list of node names", entry);
    }
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> expand_hosts(std::string_view list, std::size_t most) {
  std::vector<std::string> all;
  while (!list.empty()) {
    // The next comma outside brackets.
    std::size_t end = 0;
    for (bool inside = false; end < list.size() && (inside || list[end] != ','); ++end) {
      if (list[end] == '[') inside = true;
      if (list[end] == ']') inside = false;
    }
    auto names = expand_one(list.substr(0, end), most - all.size());
    if (!names.ok()) return names;
    if (names.value().size() > most - all.size()) return bad("too many", list);
    for (std::string& name : names.value()) all.push_back(std::move(name));
    if (end + 1 == list.size()) return bad("ends with a comma", list);
    list.remove_prefix(std::min(list.size(), end + 1));
  }
  return all;
}

}  // namespace muster
