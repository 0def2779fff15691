// The output of `muster trace info`; see info.h.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "workload/trace/info.h"

namespace muster {

namespace {

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

// Formats hours and GPUs: three significant digits below 100, whole numbers from 100 on.
std::string amount(double number) {
  if (number >= 99.95) return grouped(std::llround(number));
  return fmt::format("{:.{}f}", number, number < 9.995 ? 2 : 1);
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(static_cast<std::int64_t>(count)), noun,
                     count == 1 ? "" : "s");
}

// Returns a bar of length share * cells. Every share above 0 has a visible mark.
std::string bar(double share, int cells, Glyphs glyphs) {
  if (share <= 0) return "";
  if (glyphs == Glyphs::kAscii) {
    const auto full = static_cast<std::size_t>(share * cells + 0.5);
    return full == 0 ? "." : std::string(full, '#');
  }
  constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = std::max(1, static_cast<int>(share * cells * 8 + 0.5));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[eighths % 8];
  return text;
}

std::string padded_bar(double share, int cells, Glyphs glyphs) {
  // fmt pads by display width, so columns align although a block character has three bytes.
  return fmt::format("{:<{}}", bar(share, cells, glyphs), cells);
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// Returns "  has        a, b, c", wrapped at `width`, or "" for an empty list.
std::string listed(std::string_view label, const std::vector<std::string>& items, int width) {
  if (items.empty()) return "";
  std::string out = fmt::format("  {:<10} ", label);
  const std::size_t indent = out.size();
  std::size_t column = indent;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string text = items[i] + (i + 1 < items.size() ? "," : "");
    if (column > indent && column + 1 + text.size() > static_cast<std::size_t>(width)) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += text;
    column += text.size();
  }
  return out + "\n";
}

// Lists the columns with values and those without. Adds the number of jobs if only some have one.
std::string has_and_lacks(const TraceInfo& info, int width) {
  std::vector<std::string> has;
  std::vector<std::string> lacks;
  for (const ColumnUse& use : info.filled) {
    if (use.jobs == 0) {
      lacks.emplace_back(use.name);
    } else if (use.jobs == info.jobs) {
      has.emplace_back(use.name);
    } else {
      has.push_back(fmt::format("{} ({} of {})", use.name, grouped(use.jobs), grouped(info.jobs)));
    }
  }
  return listed("has", has, width) + listed("lacks", lacks, width);
}

std::string summary(const Trace& trace, const TraceInfo& info, int width) {
  std::string out = fmt::format("{}  ({})\n\n", trace.source, trace.format);
  const auto row = [&](std::string_view label, const std::string& text) {
    out += fmt::format("  {:<10} {}\n", label, text);
  };
  row("jobs", grouped(info.jobs));
  row("submitted", fmt::format("over {}, the first at {}", short_duration(info.span),
                               short_duration(info.first_submit - Instant())));
  row("GPU-hours", amount(info.gpu_hours));
  row("demand", fmt::format("mean {} GPUs, peak {}, if no job had to wait", amount(info.mean_gpus),
                            grouped(info.peak_gpus)));
  row("from", fmt::format("{}, {}, {}", counted(info.tenants, "tenant"),
                          counted(info.users, "user"), counted(info.models, "model")));
  out += has_and_lacks(info, width);
  return out;
}

std::string duration_row(const TraceInfo& info) {
  struct Figure {
    std::string_view label;
    Duration value;
  };
  const Figure figures[] = {{"p10", info.p10}, {"p50", info.p50},     {"p90", info.p90},
                            {"p99", info.p99}, {"max", info.longest}, {"mean", info.mean}};
  std::string labels;
  std::string values;
  for (const Figure& figure : figures) {
    labels += fmt::format("{:>10}", figure.label);
    values += fmt::format("{:>10}", short_duration(figure.value));
  }
  return fmt::format("  run time\n{}\n{}\n", labels, values);
}

// One row of the chart of sizes. There are at most 12: the sizes with the most jobs, ascending, and
// one row for all others.
struct SizeRow {
  std::string label;
  std::int64_t jobs = 0;
  double gpu_hours = 0;
};

std::vector<SizeRow> size_rows(const TraceInfo& info) {
  constexpr std::size_t kMaxRows = 12;
  std::int64_t least_jobs = 0;
  if (info.sizes.size() > kMaxRows) {
    std::vector<std::int64_t> counts;
    for (const GpuSizeCount& size : info.sizes) counts.push_back(size.jobs);
    std::sort(counts.rbegin(), counts.rend());
    least_jobs = counts[kMaxRows - 2];
  }
  std::vector<SizeRow> rows;
  SizeRow rest{"other"};
  for (const GpuSizeCount& size : info.sizes) {
    const bool room = info.sizes.size() <= kMaxRows || rows.size() < kMaxRows - 1;
    if (size.jobs >= least_jobs && room) {
      rows.push_back({grouped(size.gpus), size.jobs, size.gpu_hours});
    } else {
      rest.jobs += size.jobs;
      rest.gpu_hours += size.gpu_hours;
    }
  }
  if (rest.jobs > 0) rows.push_back(rest);
  return rows;
}

std::string size_chart(const TraceInfo& info, int width, Glyphs glyphs) {
  const std::vector<SizeRow> rows = size_rows(info);
  double most_jobs = 1;
  double most_hours = 1e-9;
  for (const SizeRow& row : rows) {
    most_jobs = std::max(most_jobs, static_cast<double>(row.jobs));
    most_hours = std::max(most_hours, row.gpu_hours);
  }
  const int cells = std::max(4, (width - 40) / 2);
  std::string out = without_trailing_blanks(
      fmt::format("  {:>9} {:>11}  {:<{}}{:>13}", "GPUs", "jobs", "", cells, "GPU-hours"));
  for (const SizeRow& row : rows) {
    out += without_trailing_blanks(
        fmt::format("  {:>9} {:>11}  {}{:>13}  {}", row.label, grouped(row.jobs),
                    padded_bar(static_cast<double>(row.jobs) / most_jobs, cells, glyphs),
                    amount(row.gpu_hours), bar(row.gpu_hours / most_hours, cells, glyphs)));
  }
  return out;
}

// A logarithmic scale with steps of about 4, in common units of time.
struct Bin {
  std::string_view label;
  std::int64_t below_s;
};
constexpr Bin kBins[] = {{"< 1 s", 1},
                         {"< 4 s", 4},
                         {"< 15 s", 15},
                         {"< 1 min", 60},
                         {"< 4 min", 240},
                         {"< 15 min", 900},
                         {"< 1 h", 3600},
                         {"< 4 h", 14'400},
                         {"< 16 h", 57'600},
                         {"< 3 d", 259'200},
                         {"< 10 d", 864'000},
                         {"< 40 d", 3'456'000},
                         {"longer", 3'155'760'001}};

std::string duration_chart(const Trace& trace, int width, Glyphs glyphs) {
  std::vector<std::int64_t> counts(std::size(kBins), 0);
  for (const TraceJob& job : trace.jobs) {
    std::size_t bin = 0;
    while (bin + 1 < counts.size() && job.duration >= Duration::seconds(kBins[bin].below_s)) ++bin;
    ++counts[bin];
  }
  std::size_t first = 0;
  std::size_t last = counts.size();
  while (first + 1 < last && counts[first] == 0) ++first;
  while (last > first + 1 && counts[last - 1] == 0) --last;
  const auto most = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
  const int cells = std::max(4, width - 26);
  std::string out = fmt::format("  {:>9} {:>11}\n", "run time", "jobs");
  for (std::size_t i = first; i < last; ++i) {
    out += without_trailing_blanks(
        fmt::format("  {:>9} {:>11}  {}", kBins[i].label, grouped(counts[i]),
                    bar(static_cast<double>(counts[i]) / most, cells, glyphs)));
  }
  return out;
}

struct TimeUnit {
  std::string_view name;
  std::int64_t seconds;
};

// Returns days or hours if the span has at least 4 of them, otherwise minutes.
TimeUnit arrival_unit(Duration span) {
  if (span >= Duration::seconds(4 * 86'400)) return {"day", 86'400};
  if (span >= Duration::seconds(4 * 3600)) return {"hour", 3600};
  return {"minute", 60};
}

std::string arrival_line(const Trace& trace, const TraceInfo& info, int width, Glyphs glyphs) {
  const TimeUnit unit = arrival_unit(info.span);
  const std::int64_t most_cells = width - 2;
  const std::int64_t units = info.span.us() / (unit.seconds * 1'000'000) + 1;
  const std::int64_t per_cell = (units + most_cells - 1) / most_cells;
  const std::int64_t cell_us = unit.seconds * 1'000'000 * per_cell;
  std::vector<std::int64_t> counts(static_cast<std::size_t>((units + per_cell - 1) / per_cell), 0);
  for (const TraceJob& job : trace.jobs) {
    ++counts[static_cast<std::size_t>((job.submit - info.first_submit).us() / cell_us)];
  }
  const std::int64_t most = *std::max_element(counts.begin(), counts.end());
  const std::string cell =
      per_cell == 1 ? std::string(unit.name) : fmt::format("{} {}s", grouped(per_cell), unit.name);
  std::string out = fmt::format("  arrivals by {}, at most {}\n  ", cell, grouped(most));
  constexpr std::string_view kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::string_view kMarks[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
  for (const std::int64_t count : counts) {
    const std::int64_t level = (8 * count + most - 1) / most;  // At least 1 if count > 0.
    const auto i = static_cast<std::size_t>(level);
    out += glyphs == Glyphs::kUnicode ? kBlocks[i] : kMarks[i];
  }
  return without_trailing_blanks(out);
}

}  // namespace

std::string info_text(const Trace& trace, int width, Glyphs glyphs) {
  if (trace.jobs.empty()) return fmt::format("{}  ({})\n\n  no jobs\n", trace.source, trace.format);
  const int columns = std::clamp(width, 62, 160);
  const TraceInfo info = describe(trace);
  std::string out = summary(trace, info, columns);
  out += "\n" + size_chart(info, columns, glyphs);
  out += "\n" + duration_chart(trace, columns, glyphs);
  out += "\n" + duration_row(info);
  out += "\n" + arrival_line(trace, info, columns, glyphs);
  if (!trace.notes.empty()) out += "\n";
  for (const std::string& note : trace.notes) out += fmt::format("  note: {}\n", note);
  return out;
}

}  // namespace muster
