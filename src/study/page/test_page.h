#pragma once

// A small page with one of everything, for the tests of the writers.

#include <limits>
#include <string>

#include "study/page/page.h"

namespace muster {

// Quotes, markup, an end of script, a control character, a bell, and invalid UTF-8.
inline const std::string kHostile = "</script><b>\"a\" & 'b'\x1b[31m\a\xff\xc3(";

inline Page small_page() {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Section waiting;
  waiting.key = "waiting";
  waiting.title = "How long do jobs wait?";
  waiting.findings = {"Half of the jobs start within 3.2 minutes and one in ten waits for hours.",
                      "Large ones wait longest."};
  waiting.missing = "why jobs waited.";
  waiting.tables = {{"by-size",
                     "By size",
                     {"GPUs", "jobs", "wait p50 (min)"},
                     {{"1", std::int64_t{82247}, Number{1234.567, 1}},
                      {"2, 3 or \"4\"", std::int64_t{-1500}, Number{kNan, 1}},
                      {"more", std::monostate{}, Number{0.1, 2}}}}};
  Plot line;
  line.key = "wait-cdf";
  line.title = "Waiting";
  line.x_label = "wait (min)";
  line.y_label = "jobs (%)";
  line.kind = Plot::Kind::kSteps;
  line.scale = Plot::Scale::kLog;
  line.series = {{"fifo", {1, 2.5, 1e7 / 3}, {0, 1.0 / 3, 100}},
                 {"srtf", {1, 2.5, 1e7 / 3}, {10, kNan, 100}}};
  line.thinned = "Every second point.";
  Plot bars;
  bars.key = "wait-bars";
  bars.title = "By cause";
  bars.kind = Plot::Kind::kBars;
  bars.categories = {"fair share", "order, mostly"};
  bars.series = {{"all", {}, {61.5, kNan}}};
  waiting.plots = {line, bars};

  Section use;
  use.key = "use";
  use.title = kHostile;
  use.findings = {kHostile};
  Gantt gantt;
  gantt.key = "gantt";
  gantt.title = "Who held what";
  gantt.begin = 100;
  gantt.end = 200;
  gantt.groups = {"server-0", "server-1"};
  gantt.group_of_row = {0, 0, 1};
  gantt.labels = {"job-7", kHostile};
  gantt.bars = {{2, 1, 150, 160.5, "second"}, {0, 0, 120, 130, ""}, {0, 1, 100, 110, "second"}};
  use.gantts = {gantt};

  Page page;
  page.title = "A cluster's past";
  page.facts = {"82,247 jobs of small.csv"};
  page.sections = {waiting, use};
  page.notes = {"Two jobs were left out."};
  page.commands = {"muster analyze small.csv"};
  return page;
}

}  // namespace muster
