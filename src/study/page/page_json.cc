#include "study/page/page_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/types/check.h"

namespace muster {

namespace {

using Json = nlohmann::ordered_json;

struct CellJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(const std::string& text) const { return text; }
  Json operator()(std::int64_t integer) const { return integer; }
  Json operator()(const Number& number) const { return number.value; }
};

// The displayed decimals of each column: one number if it is the same in all rows, else one per
// row; null for integers and text.
Json decimals_json(const PageTable& table) {
  Json all = Json::array();
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    Json rows = Json::array();
    std::set<int> kinds;  // -1: integers.
    for (const auto& row : table.rows) {
      const auto* number = std::get_if<Number>(&row[i]);
      rows.push_back(number == nullptr ? Json(nullptr) : Json(number->decimals));
      if (number != nullptr) kinds.insert(number->decimals);
      if (std::holds_alternative<std::int64_t>(row[i])) kinds.insert(-1);
    }
    if (kinds.size() > 1) {
      all.push_back(std::move(rows));
    } else {
      all.push_back(kinds.empty() || *kinds.begin() < 0 ? Json(nullptr) : Json(*kinds.begin()));
    }
  }
  return all;
}

Json table_json(const PageTable& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row) cells.push_back(std::visit(CellJson{}, cell));
    rows.push_back(std::move(cells));
  }
  Json out;
  out["key"] = table.key;
  out["title"] = table.title;
  out["columns"] = table.columns;
  out["decimals"] = decimals_json(table);
  out["rows"] = std::move(rows);
  return out;
}

const char* name_of(Plot::Kind kind) {
  switch (kind) {
    case Plot::Kind::kLine:
      return "line";
    case Plot::Kind::kSteps:
      return "steps";
    case Plot::Kind::kBars:
      return "bars";
  }
  MUSTER_CHECK(false);
  return "";
}

const char* name_of(Plot::Scale scale) {
  switch (scale) {
    case Plot::Scale::kLinear:
      return "linear";
    case Plot::Scale::kLog:
      return "log";
    case Plot::Scale::kTime:
      return "time";
  }
  MUSTER_CHECK(false);
  return "";
}

Json plot_json(const Plot& plot) {
  const bool bars = plot.kind == Plot::Kind::kBars;
  Json out;
  out["key"] = plot.key;
  out["title"] = plot.title;
  out["x_label"] = plot.x_label;
  out["y_label"] = plot.y_label;
  out["kind"] = name_of(plot.kind);
  if (bars) {
    out["categories"] = plot.categories;
  } else {
    out["scale"] = name_of(plot.scale);
  }
  Json all = Json::array();
  for (const Series& series : plot.series) {
    Json one;
    one["name"] = series.name;
    if (!bars) one["x"] = series.x;
    one["y"] = series.y;
    all.push_back(std::move(one));
  }
  out["series"] = std::move(all);
  if (!plot.thinned.empty()) out["thinned"] = plot.thinned;
  return out;
}

Json gantt_json(const Gantt& gantt) {
  Json bars = Json::array();
  for (const Gantt::Bar& bar : gantt.bars) {
    Json one;
    one["row"] = bar.row;
    one["label"] = bar.label;
    one["begin_s"] = bar.begin;
    one["end_s"] = bar.end;
    if (!bar.tip.empty()) one["tip"] = bar.tip;
    bars.push_back(std::move(one));
  }
  Json out;
  out["key"] = gantt.key;
  out["title"] = gantt.title;
  out["begin_s"] = gantt.begin;
  out["end_s"] = gantt.end;
  out["groups"] = gantt.groups;
  out["group_of_row"] = gantt.group_of_row;
  out["labels"] = gantt.labels;
  out["bars"] = std::move(bars);
  if (!gantt.thinned.empty()) out["thinned"] = gantt.thinned;
  return out;
}

Json section_json(const Section& section) {
  Json tables = Json::array(), plots = Json::array(), gantts = Json::array();
  for (const PageTable& table : section.tables) tables.push_back(table_json(table));
  for (const Plot& plot : section.plots) plots.push_back(plot_json(plot));
  for (const Gantt& gantt : section.gantts) gantts.push_back(gantt_json(gantt));
  Json out;
  out["key"] = section.key;
  out["title"] = section.title;
  out["findings"] = section.findings;
  out["missing"] = section.missing.empty() ? Json(nullptr) : Json(section.missing);
  out["tables"] = std::move(tables);
  out["plots"] = std::move(plots);
  out["gantts"] = std::move(gantts);
  return out;
}

}  // namespace

std::string page_json(const Page& page) {
  check_page(page);
  Json sections = Json::array();
  for (const Section& section : page.sections) sections.push_back(section_json(section));
  Json out;
  out["title"] = page.title;
  out["facts"] = page.facts;
  out["sections"] = std::move(sections);
  out["notes"] = page.notes;
  out["commands"] = page.commands;
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace muster
