// Writes a page with every kind of plot, a long table, a large Gantt chart and hostile names:
//
//   sample_page FILE.html
//
// for page_check.mjs, and for manual review after changes of the page's style or script.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/file/atomic_file.h"
#include "base/types/random.h"
#include "study/page/page.h"
#include "study/page/page_html.h"

namespace muster {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kDay = 86400;
const std::string kHostile = "</script><img src=x onerror=alert(1)> \"quoted\" 'it' <b>bold</b>";

std::vector<std::string> names(std::size_t count, const char* format) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(fmt::format(fmt::runtime(format), i));
  return out;
}

Plot plot(std::string key, std::string title, Plot::Kind kind, Plot::Scale scale) {
  Plot out;
  out.key = std::move(key);
  out.title = std::move(title);
  out.kind = kind;
  out.scale = scale;
  return out;
}

// A distribution of waits in minutes; some are zero.
Series waits(std::string name, double middle) {
  Series out;
  out.name = std::move(name);
  for (int i = 0; i <= 200; ++i) {
    const double x = i == 0 ? 0 : 0.01 * std::pow(10, i / 200.0 * 6);
    out.x.push_back(x);
    out.y.push_back(100 / (1 + std::pow(middle / std::max(x, 1e-4), 0.8)));
  }
  return out;
}

Plot cdf(std::string key, std::string title, std::size_t series) {
  Plot out = plot(std::move(key), std::move(title), Plot::Kind::kSteps, Plot::Scale::kLog);
  out.x_label = "waiting (min)";
  out.y_label = "jobs (%)";
  constexpr const char* kNames[] = {"fifo",       "srtf", "las", "tenants, gang of 8 and more",
                                    "gittins, 2", "ftf",  "mlfq"};
  for (std::size_t i = 0; i < series; ++i) {
    out.series.push_back(waits(kNames[i % 7], 3 * std::pow(2.5, static_cast<double>(i))));
  }
  return out;
}

Plot over_time(std::string key, Random& random, double days, std::size_t series) {
  Plot out = plot(std::move(key), "The cluster over time", Plot::Kind::kSteps, Plot::Scale::kTime);
  out.x_label = "since the first job";
  out.y_label = "GPUs";
  out.thinned = "Of 182,311 changes every 91st is drawn.";
  constexpr const char* kNames[] = {"in use", "free", "asked for by waiting jobs"};
  for (std::size_t s = 0; s < series; ++s) {
    Series one;
    one.name = kNames[s % 3];
    double level = 1200 + 300 * static_cast<double>(s);
    for (int i = 0; i < 2000; ++i) {
      one.x.push_back(days * kDay * i / 2000);
      level = std::max(0.0, level + 60 * (random.uniform() - 0.5));
      one.y.push_back(i > 900 && i < 960 ? kNan : std::floor(level));
    }
    out.series.push_back(std::move(one));
  }
  return out;
}

Plot lines(std::string key, std::size_t series, double scale) {
  Plot out =
      plot(std::move(key), "Mean completion time by load", Plot::Kind::kLine, Plot::Scale::kLinear);
  out.x_label = "load (jobs an hour)";
  out.y_label = "mean JCT (h)";
  for (std::size_t s = 0; s < series; ++s) {
    Series one;
    one.name = fmt::format("policy {}", s + 1);
    for (int i = 0; i < 12; ++i) {
      one.x.push_back(2 + i);
      const double y = scale * (4 + std::exp(0.2 * i) * (1 + 0.3 * static_cast<double>(s)));
      one.y.push_back(s == 1 && i == 5 ? kNan : y);
    }
    out.series.push_back(std::move(one));
  }
  return out;
}

Plot bars(std::string key, std::string title, std::vector<std::string> categories,
          std::size_t series, double low) {
  Plot out = plot(std::move(key), std::move(title), Plot::Kind::kBars, Plot::Scale::kLinear);
  out.x_label = "GPUs of a job";
  out.y_label = "share of GPU hours (%)";
  for (std::size_t s = 0; s < series; ++s) {
    Series one;
    one.name = fmt::format("cluster {}", s + 1);
    for (std::size_t i = 0; i < categories.size(); ++i) {
      one.y.push_back(low + 12 * static_cast<double>((i * 7 + s * 3) % 11) / 2);
    }
    if (one.y.size() > 2) one.y[2] = kNan;
    out.series.push_back(std::move(one));
  }
  out.categories = std::move(categories);
  return out;
}

PageTable long_table(Random& random) {
  PageTable out;
  out.key = "jobs";
  out.title = "The jobs that waited longest";
  out.columns = {"job", "user", "GPUs", "wait (h)", "run (h)", "ended", "efficiency (%)"};
  for (int i = 0; i < 200; ++i) {
    std::vector<Cell> row;
    row.push_back(i == 3 ? kHostile : fmt::format("application_1506638472019_{:05}", i * 37));
    row.push_back(fmt::format("user{}", i % 17));
    row.push_back(std::int64_t{1} << (i % 7));
    row.push_back(Number{200 * std::exp(-i / 40.0), 2});
    row.push_back(i % 9 == 0 ? Cell{} : Cell{Number{1500 * random.uniform(), 1}});
    row.push_back(i % 5 == 0 ? "failed" : i % 7 == 0 ? "killed" : "passed");
    row.push_back(i % 11 == 0 ? Number{kNan, 1} : Number{100 * random.uniform(), 1});
    out.rows.push_back(std::move(row));
  }
  return out;
}

PageTable wide_table() {
  PageTable out;
  out.key = "reasons";
  out.title = "Reasons of failure";
  out.columns = {"reason",
                 "whose",
                 "attempts",
                 "jobs",
                 "users",
                 "lost GPU hours",
                 "of all (%)",
                 "half within (min)",
                 "nine of ten within (min)",
                 "the longest (h)"};
  for (const char* reason : {"CPU out of memory", "Incorrect inputs", "Semantic error", "Core dump",
                             "Invalid memory access", "Model checkpoint error"}) {
    out.rows.push_back({reason, "user", std::int64_t{12345}, std::int64_t{2076}, std::int64_t{65},
                        Number{1234567.25, 1}, Number{12.5, 1}, Number{13.45, 2}, Number{202, 1},
                        Number{-0.001, 1}});
  }
  return out;
}

Gantt gantt(Random& random) {
  Gantt out;
  out.key = "gantt";
  out.title = "Who held which GPU";
  out.begin = 10 * kDay;
  out.end = 24 * kDay;
  out.groups = names(16, "server-{:02}");
  out.groups[5] = "a-server-with-a-very-long-name.rack7.example " + kHostile;
  for (std::uint32_t row = 0; row < 128; ++row) out.group_of_row.push_back(row / 8);
  out.labels = names(4000, "job-{:05}");
  out.labels[7] = kHostile;
  for (std::uint32_t node = 0; node < 16; ++node) {
    double at = out.begin;
    for (std::uint32_t n = 0; n < 157; ++n) {  // 16 nodes, 157 gangs of 8: 20,096 bars.
      const double begin = std::min(out.end, at + 3600 * random.uniform());
      const double end = begin + 14 * kDay / 157 * 1.6 * random.uniform();
      const auto label = n < 3 ? 7 : static_cast<std::uint32_t>(random.uniform() * 4000);
      for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
        const bool two = gpu >= 4 && n % 3 == 0;
        out.bars.push_back({node * 8 + gpu, two ? (label + 1) % 4000 : label, begin,
                            std::min(end, out.end), n % 2 == 0 ? "attempt 1, passed" : ""});
      }
      at = std::min(end, out.end - 60);
    }
  }
  out.thinned = "Two weeks of the 75 days.";
  return out;
}

// Two GPUs; the node in the middle has none.
Gantt small_gantt() {
  Gantt out;
  out.key = "small-gantt";
  out.title = "Two GPUs, twenty seconds";
  out.begin = 0;
  out.end = 20;
  out.groups = {"a", "b", "c"};
  out.group_of_row = {0, 2};
  out.labels = {"one", "two", "three, with a long name that does not fit", kHostile};
  out.bars = {{0, 0, 0, 12.25, ""}, {0, 1, 12.25, 20, ""}, {1, 2, 0, 2, ""}, {1, 3, 2, 20, ""}};
  return out;
}

Section section(std::string key, std::string title, std::vector<std::string> findings) {
  Section out;
  out.key = std::move(key);
  out.title = std::move(title);
  out.findings = std::move(findings);
  return out;
}

Section waiting_section() {
  Section out = section(
      "waiting", "How long do jobs wait, and for what?",
      {"Half of the jobs start within 3.2 minutes; one in ten waits for more than 11 hours.",
       "Fragmentation accounts for 61% of the waiting of jobs with more than 4 GPUs, fair share "
       "for 24%; small jobs wait for fair share alone."});
  out.plots = {cdf("wait-cdf", "Waiting by policy", 5), lines("jct-load", 4, 1),
               bars("wait-size", "Waiting by size", {"1", "2-4", "5-8", "> 8"}, 1, 4),
               bars("wait-cause", "Waiting by cause", {"1", "2-4", "5-8", "> 8"}, 3, 8)};
  return out;
}

Section use_section(Random& random) {
  Section out = section("use", "How well are the GPUs used?",
                        {"GPUs that were held were busy 52.3% of the time in the median minute."});
  out.missing = "when GPUs were out of order, so that free ones may have been none.";
  out.plots = {over_time("over-time", random, 75, 3),
               over_time("a-day", random, 0.9, 1),
               over_time("ten-minutes", random, 0.005, 2),
               bars("many", "By virtual cluster", names(40, "virtual-cluster-{:02}"), 1, 2),
               bars("long-names", "By reason",
                    {"CPU out of memory", "Incorrect inputs", kHostile, "Core dump",
                     "Model checkpoint error", "Semantic error"},
                    1, 1),
               cdf("use-cdf", "One series alone", 1)};
  out.plots[3].y_label = "GPU hours";
  for (double& y : out.plots[3].series[0].y) y *= 31'234;
  out.gantts = {gantt(random)};
  return out;
}

Section odd_section(Random& random) {
  Section out = section("odd", "Odd ones: " + kHostile, {kHostile});
  Plot empty = plot("empty", "Nothing there", Plot::Kind::kLine, Plot::Scale::kLinear);
  empty.series.push_back({"none", {1, 2}, {kNan, kNan}});
  Plot point = plot("point", "A single point", Plot::Kind::kLine, Plot::Scale::kTime);
  point.series.push_back({"one", {3600}, {5}});
  point.x_label = "time";
  Plot one_step = cdf("one-step", "A distribution of one value", 2);
  for (Series& series : one_step.series) series = {series.name, {0.01}, {100}};
  one_step.series[1].y = {50};
  Plot negative = bars("negative", "Gains and losses", {"a", "b", "c", "d", "e"}, 2, -25);
  Plot flat = lines("flat", 2, 1);
  flat.title = "Far from zero";
  for (Series& series : flat.series) {
    for (double& y : series.y) y = 97 + y / 20;
  }
  Plot large = lines("large", 11, 4e6);
  large.title = "Large numbers, eleven series";
  Plot tiny = lines("tiny", 2, 1e-6);
  tiny.title = "Tiny numbers; " + kHostile;
  tiny.series[0].name = kHostile;
  Plot short_log = cdf("short-log", "Less than a decade", 2);
  for (Series& series : short_log.series) {
    for (double& x : series.x) x = 20 + std::min(x, 1e4) / 200;
  }
  Plot hours = over_time("hours", random, 3, 2);
  out.plots = {empty,
               point,
               one_step,
               negative,
               flat,
               large,
               tiny,
               hours,
               short_log,
               cdf("seven", "Seven distributions", 7),
               lines("one-line", 1, 1000)};
  out.gantts = {small_gantt()};
  return out;
}

Page sample() {
  Random random(1);
  Page page;
  page.title = "Philly, August to December: a cluster's past";
  page.facts = {"82,247 jobs of philly_full.csv", "2,474 GPUs in 552 servers", "75.0 days",
                "made by muster 0.1.0"};
  page.sections = {waiting_section(), use_section(random), odd_section(random)};
  Section tables = section("tables", "Who failed, and why?",
                           {"30.1% of the jobs ended without success and took 55.2% of the GPU "
                            "hours."});
  tables.tables = {wide_table(), long_table(random)};
  page.sections.insert(page.sections.begin() + 2, std::move(tables));
  page.sections.push_back(section("nothing", "What happened before August?", {}));
  page.sections.back().missing = "anything before the first job.";
  page.notes = {"1,204 attempts without an end were left out.",
                "Times are rounded to whole seconds, as the log has them."};
  page.commands = {
      "muster analyze philly --html page.html --csv page/ --a-long-option "
      "with-a-long-value-that-does-not-fit-on-one-line=1,2,3,4,5,6,7,8,9",
      "muster report runs/*/"};
  return page;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: sample_page FILE.html\n");
    return 2;
  }
  muster::AtomicFile file(argv[1]);
  file.append(muster::page_html(muster::sample()));
  muster::MaybeError refusal = file.close();
  if (!refusal) refusal = file.publish();
  if (refusal) std::fprintf(stderr, "%s\n", refusal->message.c_str());
  return refusal ? 1 : 0;
}
