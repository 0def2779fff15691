#include "base/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace muster {

namespace {

// Edit distance: the number of insertions, deletions, changes and swaps of letters.
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> rows(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) rows[i][0] = static_cast<int>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int change = a[i - 1] == b[j - 1] ? 0 : 1;
      int best = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, rows[i - 2][j - 2] + 1);
      }
      rows[i][j] = best;
    }
  }
  return rows[a.size()][b.size()];
}

Result<Duration> to_duration(double seconds, std::string_view text) {
  if (seconds < 0) return Error{"negative: " + in_quotes(text)};
  if (seconds > kLongestDuration.in_seconds())
    return Error{"longer than 100 years: " + in_quotes(text)};
  return Duration::micros(std::llround(seconds * 1e6));
}

}  // namespace

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

Result<std::int64_t> parse_int(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc::result_out_of_range)
    return Error{"number too large: " + in_quotes(text)};
  if (status != std::errc() || end != text.data() + text.size()) {
    return Error{"not a whole number: " + in_quotes(text)};
  }
  return value;
}

Result<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc::result_out_of_range) {
    const bool small = text.find("e-") != text.npos || text.find("E-") != text.npos;
    return Error{fmt::format("number too {}: {}", small ? "small" : "large", in_quotes(text))};
  }
  if (status != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return Error{"not a number: " + in_quotes(text)};
  }
  return value;
}

Result<Duration> parse_seconds(std::string_view text) {
  // Most traces have whole seconds. Parsing them as integers is exact and fast.
  if (const Result<std::int64_t> whole = parse_int(text); whole.ok()) {
    if (whole.value() < 0) return Error{"negative: " + in_quotes(text)};
    if (whole.value() <= kLongestDuration.us() / 1'000'000) {
      return Duration::seconds(whole.value());
    }
    return Error{"longer than 100 years: " + in_quotes(text)};
  }
  const Result<double> seconds = parse_number(text);
  if (!seconds.ok()) return seconds.error();
  return to_duration(seconds.value(), text);
}

Result<Duration> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr Unit kUnits[] = {{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const Result<double> count = parse_number(text.substr(0, text.size() - unit.name.size()));
    if (count.ok()) return to_duration(count.value() * unit.seconds, text);
  }
  const Result<double> seconds = parse_number(text);
  if (seconds.ok()) return to_duration(seconds.value(), text);
  return Error{"not a duration: " + in_quotes(text) + "; write 300s, 5m, 2h or 1d"};
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  int best_distance = std::max(1, static_cast<int>(word.size()) / 3) + 1;
  if (word.size() > 64) return best;  // Not a typing error, and slow to compare.
  for (const std::string_view candidate : candidates) {
    const int distance = candidate.size() > 64 ? 64 : edit_distance(word, candidate);
    // On a tie, prefer the candidate that `word` abbreviates: "cpu" means "cpus", not "gpu".
    const bool cut_short = candidate.starts_with(word) && !best.starts_with(word);
    if (distance < best_distance || (distance == best_distance && !best.empty() && cut_short)) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string few_suggestions(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kMaxSuggestions = 3;
  std::vector<std::string_view> left(candidates.begin(), candidates.end());
  std::string text;
  for (std::size_t count = 0; count < kMaxSuggestions; ++count) {
    const std::string_view near = nearest(word, left);
    if (near.empty()) break;
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", near);
    std::erase(left, near);
  }
  return text.empty() ? "" : fmt::format("; did you mean {}?", text);
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view near = nearest(word, candidates);
  if (!near.empty()) return fmt::format("; did you mean '{}'?", near);
  if (candidates.size() > 40) return "";
  return fmt::format("; one of: {}", fmt::join(candidates, ", "));
}

std::string first_few(std::span<const std::string> names) {
  constexpr std::size_t kMaxShown = 4;
  const std::span<const std::string> shown = names.first(std::min(names.size(), kMaxShown));
  std::string text = fmt::format("{}", fmt::join(shown.begin(), shown.end(), ", "));
  if (shown.size() < names.size()) {
    text += fmt::format(" and {} more", names.size() - shown.size());
  }
  return text;
}

std::string shell_word(std::string_view word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMax = 60;
  std::string out = "'";
  for (const char c : text.substr(0, kMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  if (text.size() > kMax) out += "...";
  return out + "'";
}

std::string short_duration(Duration duration) {
  const double s = duration.in_seconds();
  const auto show = [](double value, const char* unit) {
    return value < 9.995 ? fmt::format("{:.2f} {}", value, unit)
                         : fmt::format("{:.1f} {}", value, unit);
  };
  if (s < 120) return show(s, "s");
  if (s < 7200) return show(s / 60, "min");
  if (s < 172800) return show(s / 3600, "h");
  return show(s / 86400, "d");
}

void append_millionths(std::string& out, std::int64_t millionths) {
  auto size = static_cast<std::uint64_t>(millionths);
  if (millionths < 0) {
    out += '-';
    size = 0 - size;
  }
  const fmt::format_int whole(size / 1'000'000);
  out.append(whole.data(), whole.size());
  std::uint64_t rest = size % 1'000'000;
  if (rest == 0) return;
  char digits[7] = {'.'};
  std::size_t length = 1;
  for (std::uint64_t unit = 100'000; rest != 0; unit /= 10) {
    digits[length++] = static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
  out.append(digits, length);
}

std::string seconds_text(std::int64_t micros) {
  std::string text;
  append_millionths(text, micros);
  return text;
}

}  // namespace muster
