#pragma once

// What there is to show of a cluster's past or of simulated runs: words, tables and plots in
// sections, as plain data. src/analyze and src/compare fill a Page in; the writers beside this
// header turn it into text for a terminal (text.h), JSON (json.h), CSV (csv.h) and one HTML file
// that stands on its own (html.h). Texts may hold any bytes; every writer makes them safe.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace muster {

// A number with the decimals that people are shown; programs get all its digits.
struct Number {
  double value = 0;
  int decimals = 1;
};

using Cell = std::variant<std::monostate, std::string, std::int64_t, Number>;  // Nothing, or...

struct PageTable {
  std::string key;                      // Of its CSV file: lower case, dashes. One a page.
  std::string title;                    // May be empty, where the section's says it all.
  std::vector<std::string> columns;     // With units: "wait p50 (min)".
  std::vector<std::vector<Cell>> rows;  // Each as long as columns.
};

struct Series {
  std::string name;
  std::vector<double> x;  // Ascending. Empty for bars.
  std::vector<double> y;  // As many; of bars one a category. NaN: nothing there.
};

struct Plot {
  enum class Kind {
    kLine,   // Points joined.
    kSteps,  // Each y holds until the next x: distributions, the cluster over time.
    kBars,   // Categories side by side.
  };
  // How x is written; hours and such are for people.
  enum class Scale { kLinear, kLog, kTime };  // kTime: x in seconds, shown as days and hours.

  std::string key;  // As that of a table, and no table's.
  std::string title;
  std::string x_label, y_label;
  Kind kind = Kind::kLine;
  Scale scale = Scale::kLinear;
  std::vector<std::string> categories;  // Of bars only.
  std::vector<Series> series;
  std::string thinned;  // What was left out to keep the page small; empty: nothing.
};

// Who held which GPU when, in a window.
struct Gantt {
  struct Bar {
    std::uint32_t row = 0;      // In rows.
    std::uint32_t label = 0;    // In labels: the same label gets the same color.
    double begin = 0, end = 0;  // Seconds.
    std::string tip;            // More to say under the mouse; may be empty.
  };
  std::string key;
  std::string title;
  double begin = 0, end = 0;                // The window.
  std::vector<std::string> groups;          // Servers.
  std::vector<std::uint32_t> group_of_row;  // Ascending; rows are GPUs.
  std::vector<std::string> labels;          // Jobs.
  std::vector<Bar> bars;
  std::string thinned;
};

struct Section {
  std::string key;  // Of its anchor: as that of a table. One a page, among sections.
  std::string title;
  std::vector<std::string> findings;  // Sentences that give the answer.
  std::string missing;  // What the input does not tell, so that the question has no (full) answer.
  std::vector<PageTable> tables;
  std::vector<Plot> plots;
  std::vector<Gantt> gantts;
};

struct Page {
  std::string title;
  std::vector<std::string> facts;  // What it was made from: "82,247 jobs of philly_full.csv".
  std::vector<Section> sections;
  std::vector<std::string> notes;     // What was left out or changed on the way here.
  std::vector<std::string> commands;  // What made it, one a line.
};

// Stops the program at a page that breaks what is said above: a key that is empty, has other
// characters than a-z, 0-9 and dashes, or is there twice; rows, series and bars that do not fit
// what they belong to. Every writer begins with it.
void check_page(const Page& page);

}  // namespace muster
