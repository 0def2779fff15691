#include "study/page/html_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text/json_string.h"
#include "base/text/wording.h"

namespace muster {

namespace {

constexpr int kFigures = 7;      // More digits than a screen can show.
constexpr int kTimeFigures = 9;  // Enough for 30 years in seconds.

void add_text(std::string& out, std::string_view text) { append_json_string(out, printable(text)); }

void add_number(std::string& out, double value, int figures) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{:.{}g}", value, figures);
  } else {
    out += "null";
  }
}

// Appends "name":[...], and calls `add` for each item.
template <class Items, class Add>
void add_list(std::string& out, std::string_view name, const Items& items, const Add& add) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":[", name);
  bool first = true;
  for (const auto& item : items) {
    if (!std::exchange(first, false)) out += ',';
    add(out, item);
  }
  out += ']';
}

void add_texts(std::string& out, std::string_view name, const std::vector<std::string>& texts) {
  add_list(out, name, texts, [](std::string& to, const std::string& text) { add_text(to, text); });
}

void add_numbers(std::string& out, std::string_view name, const std::vector<double>& values,
                 int figures) {
  add_list(out, name, values, [&](std::string& to, double v) { add_number(to, v, figures); });
}

template <class Integers>
void add_integers(std::string& out, std::string_view name, const Integers& values) {
  add_list(out, name, values, [](std::string& to, std::uint32_t value) {
    const fmt::format_int text(value);
    to.append(text.data(), text.size());
  });
}

// Series often share their x values. Then a number refers to the series that has them.
void add_series(std::string& out, const Plot& plot) {
  out += ",\"series\":[";
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    out += i > 0 ? ",{\"name\":" : "{\"name\":";
    add_text(out, series.name);
    const auto same = std::find_if(plot.series.begin(), plot.series.end(),
                                   [&](const Series& other) { return other.x == series.x; });
    const auto first = static_cast<std::size_t>(same - plot.series.begin());
    if (first < i) {
      fmt::format_to(std::back_inserter(out), ",\"x\":{}", first);
    } else {
      add_numbers(out, "x", series.x, kTimeFigures);
    }
    add_numbers(out, "y", series.y, kFigures);
    out += '}';
  }
  out += ']';
}

void add_plot(std::string& out, const Plot& plot) {
  constexpr std::string_view kKinds[] = {"line", "steps", "bars"};
  constexpr std::string_view kScales[] = {"linear", "log", "time"};
  fmt::format_to(std::back_inserter(out), "{{\"key\":\"{}\",\"kind\":\"{}\",\"scale\":\"{}\"",
                 plot.key, kKinds[static_cast<std::size_t>(plot.kind)],
                 kScales[static_cast<std::size_t>(plot.scale)]);
  for (const auto& [name, text] :
       {std::pair("title", &plot.title), std::pair("x_label", &plot.x_label),
        std::pair("y_label", &plot.y_label)}) {
    fmt::format_to(std::back_inserter(out), ",\"{}\":", name);
    add_text(out, *text);
  }
  add_texts(out, "categories", plot.categories);
  add_series(out, plot);
  out += '}';
}

// Bars are sorted by row and time, so that the script need not sort them.
std::vector<const Gantt::Bar*> in_order(const Gantt& gantt) {
  std::vector<const Gantt::Bar*> bars;
  for (const Gantt::Bar& bar : gantt.bars) bars.push_back(&bar);
  std::stable_sort(bars.begin(), bars.end(), [](const Gantt::Bar* a, const Gantt::Bar* b) {
    return std::tie(a->row, a->begin) < std::tie(b->row, b->begin);
  });
  return bars;
}

// Each distinct tip is written once. Each bar has the index of its tip; 0 is none.
void add_tips(std::string& out, const std::vector<const Gantt::Bar*>& bars) {
  std::map<std::string_view, std::uint32_t> numbers = {{"", 0}};
  std::vector<std::string> tips = {""};
  std::vector<std::uint32_t> of_bar;
  for (const Gantt::Bar* bar : bars) {
    const auto [at, is_new] = numbers.try_emplace(bar->tip, tips.size());
    if (is_new) tips.push_back(bar->tip);
    of_bar.push_back(at->second);
  }
  add_texts(out, "tips", tips);
  if (tips.size() > 1) add_integers(out, "tip", of_bar);
}

void add_gantt(std::string& out, const Gantt& gantt) {
  const std::vector<const Gantt::Bar*> bars = in_order(gantt);
  std::vector<std::uint32_t> rows, labels;
  std::vector<double> begins,
      lengths;  // Relative to the begin of the window, which needs fewer digits.
  for (const Gantt::Bar* bar : bars) {
    rows.push_back(bar->row);
    labels.push_back(bar->label);
    begins.push_back(bar->begin - gantt.begin);
    lengths.push_back(bar->end - bar->begin);
  }
  fmt::format_to(std::back_inserter(out), "{{\"key\":\"{}\",\"title\":", gantt.key);
  add_text(out, gantt.title);
  add_numbers(out, "window", {gantt.begin, gantt.end}, kTimeFigures);
  add_texts(out, "groups", gantt.groups);
  add_integers(out, "group", gantt.group_of_row);
  add_texts(out, "labels", gantt.labels);
  add_integers(out, "row", rows);
  add_integers(out, "label", labels);
  add_numbers(out, "begin", begins, kTimeFigures);
  add_numbers(out, "length", lengths, kFigures);
  add_tips(out, bars);
  out += '}';
}

std::string without_angles(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";  // Only strings can contain this character.
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string html_data(const Page& page) {
  std::string plots, gantts;
  for (const Section& section : page.sections) {
    for (const Plot& plot : section.plots) {
      if (!plots.empty()) plots += ',';
      add_plot(plots, plot);
    }
    for (const Gantt& gantt : section.gantts) {
      if (!gantts.empty()) gantts += ',';
      add_gantt(gantts, gantt);
    }
  }
  return without_angles("{\"plots\":[" + plots + "],\"gantts\":[" + gantts + "]}");
}

}  // namespace muster
