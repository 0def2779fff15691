#include "study/compare/sweep_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <system_error>

#include "base/file/csv.h"
#include "base/file/text_file.h"
#include "base/text/text.h"
#include "base/types/check.h"
#include "study/analyze/figures.h"
#include "study/compare/loaded_runs.h"

namespace muster {

namespace {

constexpr double kCellSecondsAnHour = 3600;
constexpr std::string_view kSeeds = "seeds";
// The measures of a page. means.csv has two bounds next to each.
constexpr std::array<std::string_view, 6> kMeasures = {
    "jct_mean_s", "jct_p50_s", "jct_p99_s", "wait_mean_s", "makespan_s", "gpu_utilization"};

std::size_t place_of(const SweepFile& file, std::string_view column) {
  const auto at = std::find(file.columns.begin(), file.columns.end(), column);
  return static_cast<std::size_t>(at - file.columns.begin());
}

std::size_t axis_count(const SweepFiles& sweep) { return place_of(sweep.means, kSeeds); }

double number_at(const SweepFile& file, std::size_t row, std::string_view column) {
  const Result<double> number = parse_number(file.rows[row][place_of(file, column)]);
  return number.ok() ? number.value() : std::numeric_limits<double>::quiet_NaN();
}

Cell hours_cell(double seconds) {
  if (!(seconds >= 0)) return {};
  return Number{seconds / kCellSecondsAnHour, 2};
}

// The axes on which groups differ; all axes if there is only one group.
std::vector<std::size_t> telling_axes(const SweepFiles& sweep) {
  std::vector<std::size_t> axes;
  const auto& rows = sweep.means.rows;
  for (std::size_t i = 0; i < axis_count(sweep); ++i) {
    const bool differs = std::any_of(rows.begin(), rows.end(),
                                     [&](const auto& row) { return row[i] != rows.front()[i]; });
    if (differs || rows.size() == 1) axes.push_back(i);
  }
  return axes;
}

// Converts numbers, so that a page can sort by them.
Cell cell_of(const std::string& text) {
  if (text.empty()) return {};
  const Result<std::int64_t> whole = parse_int(text);
  if (whole.ok()) return whole.value();
  const Result<double> number = parse_number(text);
  if (number.ok()) return Number{number.value(), 3};
  return text;
}

Section means_section(const SweepFiles& sweep, const std::vector<std::string>& names,
                      std::size_t baseline) {
  Section section{"means", "Means over the seeds", {}, "", {}, {}, {}};
  PageTable table{"groups", "", {}, {}};
  const std::vector<std::size_t> axes = telling_axes(sweep);
  for (const std::size_t axis : axes) table.columns.push_back(sweep.means.columns[axis]);
  for (const char* const column :
       {"seeds", "mean JCT (h)", "low 95%", "high 95%", "gain", "p50 JCT (h)", "p99 JCT (h)",
        "mean wait (h)", "makespan (h)", "GPU use (%)"}) {
    table.columns.emplace_back(column);
  }
  const auto of = [&](std::size_t row, std::string_view key) {
    return number_at(sweep.means, row, key);
  };
  bool seed_had_no_effect = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<Cell> row;
    for (const std::size_t axis : axes) row.push_back(cell_of(sweep.means.rows[i][axis]));
    row.push_back(cell_of(sweep.means.rows[i][axis_count(sweep)]));
    row.push_back(hours_cell(of(i, "jct_mean_s")));
    const bool same = of(i, "jct_mean_s_low95") == of(i, "jct_mean_s_high95");
    seed_had_no_effect = seed_had_no_effect || (same && of(i, "seeds") > 1);
    for (const char* const key : {"jct_mean_s_low95", "jct_mean_s_high95"}) {
      row.push_back(same ? Cell() : hours_cell(of(i, key)));
    }
    row.push_back(ratio_cell(of(baseline, "jct_mean_s"), of(i, "jct_mean_s")));
    for (const char* const key : {"jct_p50_s", "jct_p99_s", "wait_mean_s", "makespan_s"}) {
      row.push_back(hours_cell(of(i, key)));
    }
    row.push_back(Number{100 * of(i, "gpu_utilization"), 1});
    table.rows.push_back(std::move(row));
  }
  section.tables.push_back(std::move(table));
  std::size_t best = 0;
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (of(i, "jct_mean_s") < of(best, "jct_mean_s")) best = i;
  }
  section.findings.push_back(fmt::format("{} has the shortest mean completion time: {:.2f} h.",
                                         names[best], of(best, "jct_mean_s") / kCellSecondsAnHour));
  if (seed_had_no_effect) {
    section.findings.emplace_back("In rows without an interval, the seed had no effect.");
  }
  section.findings.push_back(
      fmt::format("A gain of 2.00 means half the mean completion time of {}. Intervals come from a "
                  "bootstrap over "
                  "the seeds.",
                  names[baseline]));
  return section;
}

Section bars_section(const SweepFiles& sweep, const std::vector<std::string>& names) {
  Section section{"bars", "Compared", {}, "", {}, {}, {}};
  const auto plot_of = [&](const char* key, const char* title, const char* y_label, double unit) {
    Plot plot;
    plot.key = key;
    plot.title = title;
    plot.y_label = y_label;
    plot.kind = Plot::Kind::kBars;
    plot.categories = names;
    std::string column(key);
    std::replace(column.begin(), column.end(), '-', '_');
    for (const char* const suffix : {"", "_low95", "_high95"}) {
      Series series{*suffix == 0 ? "mean" : *(suffix + 1) == 'l' ? "low 95%" : "high 95%", {}, {}};
      for (std::size_t i = 0; i < names.size(); ++i) {
        series.y.push_back(number_at(sweep.means, i, column + suffix) / unit);
      }
      plot.series.push_back(std::move(series));
    }
    section.plots.push_back(std::move(plot));
  };
  plot_of("jct-mean-s", "Mean completion time", "hours", kCellSecondsAnHour);
  plot_of("wait-mean-s", "Mean waiting", "hours", kCellSecondsAnHour);
  plot_of("gpu-utilization", "GPUs held", "percent", 0.01);
  return section;
}

Section cells_section(const SweepFiles& sweep) {
  Section section{"cells", "All cells", {}, "", {}, {}, {}};
  PageTable table{"cells", "", sweep.results.columns, {}};
  for (const std::vector<std::string>& from : sweep.results.rows) {
    std::vector<Cell> row;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const bool digest = table.columns[i] == "digest";
      row.push_back(digest ? Cell(from[i]) : cell_of(from[i]));
    }
    table.rows.push_back(std::move(row));
  }
  section.tables.push_back(std::move(table));
  section.findings.emplace_back("Equal digests mean equal decisions.");
  return section;
}

Result<SweepFile> parse_file(std::string_view text, const std::string& name) {
  SweepFile file;
  LineReader lines(text);
  FieldSplitter splitter;
  while (lines.next()) {
    const auto fail = [&](std::string_view what) {
      return Error{fmt::format("{}:{}: {}", name, lines.number(), what)};
    };
    if (const MaybeError refusal = splitter.split(lines.line())) return fail(refusal->message);
    const std::vector<std::string> row(splitter.fields().begin(), splitter.fields().end());
    if (lines.number() == 1) {
      file.columns = row;
      continue;
    }
    if (row.size() != file.columns.size()) {
      return fail(fmt::format("columns: {} where the header has {}: {}", row.size(),
                              file.columns.size(), in_quotes(lines.line())));
    }
    file.rows.push_back(row);
  }
  if (file.columns.empty()) return Error{name + ":1: the file is empty"};
  return file;
}

MaybeError check_means(const SweepFile& means, const std::string& name) {
  for (const std::string_view measure : kMeasures) {
    for (const char* const suffix : {"", "_low95", "_high95"}) {
      const std::string column = std::string(measure) + suffix;
      if (place_of(means, column) != means.columns.size()) continue;
      return Error{fmt::format("{}:1: {}: column missing from the header", name, column)};
    }
  }
  if (place_of(means, kSeeds) == means.columns.size()) {
    return Error{fmt::format("{}:1: {}: column missing from the header", name, kSeeds)};
  }
  if (means.rows.empty()) return Error{name + ":1: nothing after the header"};
  return std::nullopt;
}

}  // namespace

bool holds_sweep(const std::string& dir) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(dir + "/means.csv", ignored) &&
         std::filesystem::is_regular_file(dir + "/results.csv", ignored);
}

Result<SweepFiles> parse_sweep_files(std::string_view means, std::string_view results,
                                     const std::string& dir) {
  SweepFiles sweep;
  sweep.name = last_part(dir);
  const std::string means_name = dir + "/means.csv";
  Result<SweepFile> parsed_means = parse_file(means, means_name);
  if (!parsed_means.ok()) return parsed_means.error();
  sweep.means = std::move(parsed_means).value();
  if (const MaybeError refusal = check_means(sweep.means, means_name)) return *refusal;
  Result<SweepFile> parsed_results = parse_file(results, dir + "/results.csv");
  if (!parsed_results.ok()) return parsed_results.error();
  sweep.results = std::move(parsed_results).value();
  return sweep;
}

Result<SweepFiles> read_sweep_files(const std::string& dir) {
  const Result<std::string> means = read_text_file(dir + "/means.csv", Pipes::kRefused);
  if (!means.ok()) return means.error();
  const Result<std::string> results = read_text_file(dir + "/results.csv", Pipes::kRefused);
  if (!results.ok()) return results.error();
  return parse_sweep_files(means.value(), results.value(), dir);
}

std::vector<std::string> group_names(const SweepFiles& sweep) {
  const std::vector<std::size_t> axes = telling_axes(sweep);
  std::vector<std::string> names;
  for (const std::vector<std::string>& row : sweep.means.rows) {
    std::string name;
    for (const std::size_t axis : axes) {
      name += fmt::format("{}{}", name.empty() ? "" : " ", row[axis]);
    }
    names.push_back(name.empty() ? "all cells" : name);
  }
  return names;
}

Page sweep_page(const SweepFiles& sweep, std::size_t baseline) {
  const std::vector<std::string> names = group_names(sweep);
  MUSTER_CHECK(baseline < names.size());
  Page page;
  page.title = fmt::format("A sweep: {}", sweep.name);
  page.facts.push_back(fmt::format("{} in {}", many(sweep.results.rows.size(), "cell"),
                                   many(names.size(), "group")));
  page.sections.push_back(means_section(sweep, names, baseline));
  page.sections.push_back(bars_section(sweep, names));
  page.sections.push_back(cells_section(sweep));
  return page;
}

}  // namespace muster
