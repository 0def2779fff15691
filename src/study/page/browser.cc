#include "study/page/browser.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/text.h"
#include "study/page/json.h"

namespace muster {

namespace {

using Json = nlohmann::ordered_json;

bool is_list(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_array();
}

bool is_text(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_string();
}

// Deeper than any page is; what is written back is written by recursion.
constexpr int kMostDepth = 16;

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

// Of each column; of one also a list by row.
bool are_decimals(const Json& list) {
  return std::all_of(list.begin(), list.end(), [](const Json& one) {
    return one.is_array() ? std::all_of(one.begin(), one.end(), is_decimals) : is_decimals(one);
  });
}

Refusal check_table(const Json& table) {
  if (!table.is_object() || !is_list(table, "columns") || !is_list(table, "rows") ||
      !is_text(table, "key") || !is_text(table, "title")) {
    return Error{"a table without key, title, columns and rows"};
  }
  if (!are_texts(table["columns"])) return Error{"a column's name that is no text"};
  for (const Json& row : table["rows"]) {
    if (!row.is_array() || row.size() != table["columns"].size()) {
      return Error{"a row of a table that is not as long as its columns"};
    }
    for (const Json& cell : row) {
      if (cell.is_structured()) return Error{"a cell that is a list or an object"};
    }
  }
  if (table.contains("decimals") &&
      !(is_list(table, "decimals") && are_decimals(table["decimals"]))) {
    return Error{"decimals: not a list of numbers up to 20"};
  }
  return std::nullopt;
}

Refusal check_plot(Json& plot) {
  if (!plot.is_object() || !is_text(plot, "kind") || !is_list(plot, "series")) {
    return Error{"a plot without kind and series"};
  }
  if (!is_text(plot, "key") || !is_text(plot, "title"))
    return Error{"a plot without key and title"};
  for (const Json& series : plot["series"]) {
    if (!series.is_object() || !is_text(series, "name") || !is_list(series, "y")) {
      return Error{"a series without name and y"};
    }
    if (!are_numbers(series["y"]) || (is_list(series, "x") && !are_numbers(series["x"]))) {
      return Error{"a series of something else than numbers"};
    }
  }
  if (is_list(plot, "categories") && !are_texts(plot["categories"])) {
    return Error{"a category that is no text"};
  }
  for (const char* key : {"x_label", "y_label"}) {
    if (!is_text(plot, key)) plot[key] = "";
  }
  if (!is_text(plot, "scale")) plot["scale"] = "linear";
  return std::nullopt;
}

Refusal check_section(Json& section) {
  if (!section.is_object() || !is_text(section, "title")) return Error{"a section without title"};
  for (const char* key : {"findings", "tables", "plots"}) {
    if (!is_list(section, key)) return Error{std::string("a section without ") + key};
  }
  if (!are_texts(section["findings"])) return Error{"a finding that is no text"};
  if (!is_text(section, "missing")) section["missing"] = "";
  for (const Json& table : section["tables"]) {
    if (const Refusal refusal = check_table(table)) return refusal;
  }
  for (Json& plot : section["plots"]) {
    if (const Refusal refusal = check_plot(plot)) return refusal;
  }
  section.erase("gantts");
  return std::nullopt;
}

// Nothing but a chart of GPUs was in it.
bool is_empty(const Json& section) {
  return section["tables"].empty() && section["plots"].empty() && section["missing"] == "";
}

}  // namespace

Result<std::string> browser_page(std::string_view page_json) {
  bool deep = false;
  Json page = Json::parse(
      page_json,
      [&](int depth, Json::parse_event_t, Json&) {
        deep = deep || depth > kMostDepth;
        return depth <= kMostDepth;
      },
      false);
  if (deep) return Error{"not a page: too deep"};
  if (!page.is_object() || !is_text(page, "title") || !is_list(page, "sections")) {
    return Error{"not a page: neither a title nor sections"};
  }
  for (const char* key : {"facts", "notes", "commands"}) {
    if (!is_list(page, key) || !are_texts(page[key])) page[key] = Json::array();
  }
  Json sections = Json::array();
  for (Json& section : page["sections"]) {
    const bool charted =
        section.is_object() && is_list(section, "gantts") && !section["gantts"].empty();
    if (const Refusal refusal = check_section(section)) return *refusal;
    if (!(charted && is_empty(section))) sections.push_back(std::move(section));
  }
  page["sections"] = std::move(sections);
  return page.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string browser_page(const Page& page) { return browser_page(page_json(page)).value(); }

}  // namespace muster
