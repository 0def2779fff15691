#include "study/page/dashboard_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/text.h"
#include "study/page/page_json.h"

namespace muster {

namespace {

using Json = nlohmann::ordered_json;

bool is_list(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_array();
}

bool is_text(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_string();
}

// Deeper than any page. The limit is needed because serialization is recursive.
constexpr int kMaxDepth = 16;

bool are_texts(const Json& list) {
  return std::all_of(list.begin(), list.end(), [](const Json& one) { return one.is_string(); });
}

bool are_numbers(const Json& list) {
  return std::all_of(list.begin(), list.end(),
                     [](const Json& one) { return one.is_number() || one.is_null(); });
}

bool is_decimals(const Json& value) {
  return value.is_null() || (value.is_number_unsigned() && value.get<std::uint64_t>() <= 20);
}

// One entry per column, each a number or a list with one entry per row.
bool are_decimals(const Json& list) {
  return std::all_of(list.begin(), list.end(), [](const Json& one) {
    return one.is_array() ? std::all_of(one.begin(), one.end(), is_decimals) : is_decimals(one);
  });
}

MaybeError check_table(const Json& table) {
  if (!table.is_object() || !is_list(table, "columns") || !is_list(table, "rows") ||
      !is_text(table, "key") || !is_text(table, "title")) {
    return Error{"table: key, title, columns and rows are required"};
  }
  if (!are_texts(table["columns"])) return Error{"table: columns must be strings"};
  for (const Json& row : table["rows"]) {
    if (!row.is_array() || row.size() != table["columns"].size()) {
      return Error{"table: each row must have one cell per column"};
    }
    for (const Json& cell : row) {
      if (cell.is_structured()) return Error{"table: a cell must not be a list or an object"};
    }
  }
  if (table.contains("decimals") &&
      !(is_list(table, "decimals") && are_decimals(table["decimals"]))) {
    return Error{"decimals: must be a list of numbers up to 20"};
  }
  return std::nullopt;
}

MaybeError check_plot(Json& plot) {
  if (!plot.is_object() || !is_text(plot, "kind") || !is_list(plot, "series")) {
    return Error{"plot: kind and series are required"};
  }
  if (!is_text(plot, "key") || !is_text(plot, "title"))
    return Error{"plot: key and title are required"};
  for (const Json& series : plot["series"]) {
    if (!series.is_object() || !is_text(series, "name") || !is_list(series, "y")) {
      return Error{"series: name and y are required"};
    }
    if (!are_numbers(series["y"]) || (is_list(series, "x") && !are_numbers(series["x"]))) {
      return Error{"series: x and y must be numbers"};
    }
  }
  if (is_list(plot, "categories") && !are_texts(plot["categories"])) {
    return Error{"plot: categories must be strings"};
  }
  for (const char* key : {"x_label", "y_label"}) {
    if (!is_text(plot, key)) plot[key] = "";
  }
  if (!is_text(plot, "scale")) plot["scale"] = "linear";
  return std::nullopt;
}

MaybeError check_section(Json& section) {
  if (!section.is_object() || !is_text(section, "title"))
    return Error{"section: title is required"};
  for (const char* key : {"findings", "tables", "plots"}) {
    if (!is_list(section, key)) return Error{std::string("section: ") + key + " are required"};
  }
  if (!are_texts(section["findings"])) return Error{"section: findings must be strings"};
  if (!is_text(section, "missing")) section["missing"] = "";
  for (const Json& table : section["tables"]) {
    if (const MaybeError refusal = check_table(table)) return refusal;
  }
  for (Json& plot : section["plots"]) {
    if (const MaybeError refusal = check_plot(plot)) return refusal;
  }
  section.erase("gantts");
  return std::nullopt;
}

// True if the section contained only a Gantt chart.
bool is_empty(const Json& section) {
  return section["tables"].empty() && section["plots"].empty() && section["missing"] == "";
}

}  // namespace

Result<std::string> browser_page(std::string_view page_json) {
  bool deep = false;
  Json page = Json::parse(
      page_json,
      [&](int depth, Json::parse_event_t, Json&) {
        deep = deep || depth > kMaxDepth;
        return depth <= kMaxDepth;
      },
      false);
  if (deep) return Error{"not a page: nested too deeply"};
  if (!page.is_object() || !is_text(page, "title") || !is_list(page, "sections")) {
    return Error{"not a page: title and sections are required"};
  }
  for (const char* key : {"facts", "notes", "commands"}) {
    if (!is_list(page, key) || !are_texts(page[key])) page[key] = Json::array();
  }
  Json sections = Json::array();
  for (Json& section : page["sections"]) {
    const bool charted =
        section.is_object() && is_list(section, "gantts") && !section["gantts"].empty();
    if (const MaybeError refusal = check_section(section)) return *refusal;
    if (!(charted && is_empty(section))) sections.push_back(std::move(section));
  }
  page["sections"] = std::move(sections);
  return page.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string browser_page(const Page& page) { return browser_page(page_json(page)).value(); }

}  // namespace muster
