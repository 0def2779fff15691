#pragma once

// A report on a cluster's history or on simulated runs, as plain data: findings, tables and plots
// in sections. src/study/analyze and src/study/compare build Pages. The writers in this directory
// convert them to terminal text (page_text.h), JSON (page_json.h), CSV (page_csv.h) and one
// standalone HTML file (page_html.h). Texts may contain any bytes; each writer escapes them.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace muster {

// A number with the decimals to display. JSON and CSV contain all digits.
struct Number {
  double value = 0;
  int decimals = 1;
};

using Cell = std::variant<std::monostate, std::string, std::int64_t, Number>;  // Or empty.

struct PageTable {
  std::string key;    // Name of its CSV file: lower case, dashes. Unique in the page.
  std::string title;  // May be empty if the section's title is sufficient.
  std::vector<std::string> columns;     // With units: "wait p50 (min)".
  std::vector<std::vector<Cell>> rows;  // Each row has columns.size() cells.
};

struct Series {
  std::string name;
  std::vector<double> x;  // Ascending. Empty for bars.
  std::vector<double> y;  // As many as x; for bars one per category. NaN: no value.
};

struct Plot {
  enum class Kind {
    kLine,   // Points joined by lines.
    kSteps,  // Each y holds until the next x: distributions, the cluster over time.
    kBars,   // Categories side by side.
  };
  enum class Scale { kLinear, kLog, kTime };  // kTime: x in seconds, shown as days and hours.

  std::string key;  // Same rules as for tables; also unique among them.
  std::string title;
  std::string x_label, y_label;
  Kind kind = Kind::kLine;
  Scale scale = Scale::kLinear;
  std::vector<std::string> categories;  // Only for bars.
  std::vector<Series> series;
  std::string thinned;  // Data omitted to keep the page small; empty: none.
};

// The jobs on each GPU over time, in a window.
struct Gantt {
  struct Bar {
    std::uint32_t row = 0;      // GPU: index into group_of_row.
    std::uint32_t label = 0;    // Index into labels. The same label gets the same color.
    double begin = 0, end = 0;  // Seconds.
    std::string tip;            // Additional text on hover; may be empty.
  };
  std::string key;
  std::string title;
  double begin = 0, end = 0;                // The window.
  std::vector<std::string> groups;          // Nodes.
  std::vector<std::uint32_t> group_of_row;  // Ascending; rows are GPUs.
  std::vector<std::string> labels;          // Jobs.
  std::vector<Bar> bars;
  std::string thinned;
};

struct Section {
  std::string key;  // Name of its anchor: same rules as for tables. Unique among sections.
  std::string title;
  std::vector<std::string> findings;  // Sentences that answer the question.
  std::string missing;  // Data that the input lacks, so that the answer is incomplete.
  std::vector<PageTable> tables;
  std::vector<Plot> plots;
  std::vector<Gantt> gantts;
};

struct Page {
  std::string title;
  std::vector<std::string> facts;  // The inputs: "82,247 jobs of philly_full.csv".
  std::vector<Section> sections;
  std::vector<std::string> notes;     // Data of the inputs that was omitted or changed.
  std::vector<std::string> commands;  // Commands that created the page, one per line.
};

// Aborts if a page violates the rules above: a key that is empty, duplicate or contains other
// characters than a-z, 0-9 and dashes; or rows, series and bars of the wrong size. Each writer
// calls it first.
void check_page(const Page& page);

}  // namespace muster
