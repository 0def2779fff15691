#include "sim/results/sweep_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file/atomic_file.h"
#include "base/file/csv_row.h"
#include "base/terminal/table.h"
#include "sim/results/bootstrap.h"

namespace muster {

namespace {

using Json = nlohmann::json;

constexpr std::array kColumns = {
    "jobs",      "finished",        "failed",      "rejected",   "jct_mean_s",  "jct_p50_s",
    "jct_p95_s", "jct_p99_s",       "wait_mean_s", "makespan_s", "preemptions", "migrations",
    "gpu_hours", "gpu_utilization", "events",      "decisions",  "digest"};
constexpr std::array kAveraged = {"jct_mean_s",  "jct_p50_s",  "jct_p99_s",
                                  "wait_mean_s", "makespan_s", "gpu_utilization"};

// Cells that differ only in the seed, ordered by their first cell.
struct Group {
  std::vector<std::string> values;  // Without the seed.
  std::vector<Json> results;

  Interval of(const char* key) const {
    std::vector<double> numbers;
    for (const Json& result : results) numbers.push_back(result.at(key).get<double>());
    return bootstrap_mean(numbers);
  }

  // An interval over runs that are all the same would only seem precise.
  bool seed_has_effect() const {
    return std::any_of(results.begin(), results.end(), [&](const Json& result) {
      return result.at("digest") != results.front().at("digest");
    });
  }
};

std::vector<std::string> without_seed(const SweepTable& table,
                                      const std::vector<std::string>& values) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (table.axes[i] != "seed") kept.push_back(values[i]);
  }
  return kept;
}

std::vector<Group> groups_of(const SweepTable& table) {
  std::vector<Group> groups;
  std::map<std::vector<std::string>, std::size_t> known;
  for (const SweepTable::Row& row : table.rows) {
    const std::vector<std::string> values = without_seed(table, row.values);
    const auto [found, fresh] = known.emplace(values, groups.size());
    if (fresh) groups.push_back({values, {}});
    groups[found->second].results.push_back(Json::parse(row.result));
  }
  return groups;
}

std::string cell_text(const Json& result, const char* key) {
  if (!result.contains(key)) return "0";  // Summaries omit failures if none were possible.
  const Json& value = result[key];
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void write_results(const SweepTable& table, AtomicFile& file) {
  CsvRow row;
  for (const std::string& axis : table.axes) row.text(axis);
  for (const char* const column : kColumns) row.text(column);
  row.write_to(file);
  for (const SweepTable::Row& cell : table.rows) {
    const Json result = Json::parse(cell.result);
    for (const std::string& value : cell.values) row.text(value);
    for (const char* const column : kColumns) row.text(cell_text(result, column));
    row.write_to(file);
  }
}

void write_means(const SweepTable& table, AtomicFile& file) {
  CsvRow row;
  for (const std::string& axis : without_seed(table, table.axes)) row.text(axis);
  row.text("seeds");
  for (const char* const column : kAveraged) {
    for (const char* const suffix : {"", "_low95", "_high95"}) {
      row.text(fmt::format("{}{}", column, suffix));
    }
  }
  row.write_to(file);
  for (const Group& group : groups_of(table)) {
    for (const std::string& value : group.values) row.text(value);
    row.count(static_cast<std::int64_t>(group.results.size()));
    for (const char* const column : kAveraged) {
      const Interval interval = group.of(column);
      for (const double number : {interval.mean, interval.low, interval.high}) {
        row.text(fmt::format("{:.6f}", number));
      }
    }
    row.write_to(file);
  }
}

MaybeError publish(const std::string& path, const SweepTable& table,
                   void (*write)(const SweepTable&, AtomicFile&)) {
  AtomicFile file(path);
  write(table, file);
  if (MaybeError refusal = file.close()) return refusal;
  return file.publish();
}

}  // namespace

MaybeError write_sweep(const std::string& dir, const SweepTable& table) {
  if (MaybeError refusal = publish(dir + "/results.csv", table, write_results)) return refusal;
  return publish(dir + "/means.csv", table, write_means);
}

std::string sweep_text(const SweepTable& table, ColorMode colors) {
  // Options that all cells share would only take up space.
  std::vector<Column> columns;
  std::vector<std::size_t> shown;
  const std::vector<std::string> axes = without_seed(table, table.axes);
  const std::vector<Group> groups = groups_of(table);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool differs = std::any_of(groups.begin(), groups.end(), [&](const Group& group) {
      return group.values[i] != groups.front().values[i];
    });
    if (!differs) continue;
    shown.push_back(i);
    columns.push_back({axes[i], Align::kLeft});
  }
  for (const char* const header :
       {"seeds", "mean JCT", "95% interval", "p99 JCT", "mean wait", "makespan", "GPU use"}) {
    columns.push_back({header, Align::kRight});
  }
  Table out(std::move(columns));
  const auto hours = [](double seconds) { return fmt::format("{:.2f} h", seconds / 3600); };
  for (const Group& group : groups) {
    std::vector<std::string> cells;
    for (const std::size_t i : shown) cells.push_back(group.values[i]);
    const Interval jct = group.of("jct_mean_s");
    cells.push_back(fmt::format("{}", group.results.size()));
    cells.push_back(hours(jct.mean));
    cells.push_back(group.results.size() == 1 ? "-"
                    : group.seed_has_effect()
                        ? fmt::format("{:.2f} to {:.2f}", jct.low / 3600, jct.high / 3600)
                        : "the seed had no effect");
    cells.push_back(hours(group.of("jct_p99_s").mean));
    cells.push_back(hours(group.of("wait_mean_s").mean));
    cells.push_back(hours(group.of("makespan_s").mean));
    cells.push_back(fmt::format("{:.1f}%", 100 * group.of("gpu_utilization").mean));
    out.add_row(std::move(cells));
  }
  return out.render(colors);
}

}  // namespace muster
