#include "study/page/page.h"

#include <algorithm>
#include <set>

#include "base/types/check.h"

namespace muster {

namespace {

void check_key(const std::string& key, std::set<std::string>& seen) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  MUSTER_CHECK(!key.empty() && std::all_of(key.begin(), key.end(), allowed));
  MUSTER_CHECK(seen.insert(key).second);
}

void check_plot(const Plot& plot) {
  const bool bars = plot.kind == Plot::Kind::kBars;
  MUSTER_CHECK(bars || plot.categories.empty());
  for (const Series& series : plot.series) {
    MUSTER_CHECK(series.x.size() == (bars ? 0 : series.y.size()));
    MUSTER_CHECK(!bars || series.y.size() == plot.categories.size());
    MUSTER_CHECK(std::is_sorted(series.x.begin(), series.x.end()));
  }
}

void check_gantt(const Gantt& gantt) {
  MUSTER_CHECK(std::is_sorted(gantt.group_of_row.begin(), gantt.group_of_row.end()));
  MUSTER_CHECK(gantt.group_of_row.empty() || gantt.group_of_row.back() < gantt.groups.size());
  for (const Gantt::Bar& bar : gantt.bars) {
    MUSTER_CHECK(bar.row < gantt.group_of_row.size() && bar.label < gantt.labels.size());
    MUSTER_CHECK(bar.begin <= bar.end);
  }
}

}  // namespace

void check_page(const Page& page) {
  std::set<std::string> sections, files;
  for (const Section& section : page.sections) {
    check_key(section.key, sections);
    for (const PageTable& table : section.tables) {
      check_key(table.key, files);
      MUSTER_CHECK(!table.columns.empty());
      for (const auto& row : table.rows) MUSTER_CHECK(row.size() == table.columns.size());
    }
    for (const Plot& plot : section.plots) {
      check_key(plot.key, files);
      check_plot(plot);
    }
    for (const Gantt& gantt : section.gantts) {
      check_key(gantt.key, files);
      check_gantt(gantt);
    }
  }
}

}  // namespace muster
