#include "cli/live/top_frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/terminal/table.h"
#include "base/terminal/table_columns.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "base/text/wording.h"
#include "cli/live/answer_text.h"
#include "cli/live/live_session.h"
#include "sim/results/run_tables.h"

namespace muster {
namespace {

using Json = nlohmann::json;
using Lines = std::vector<std::string>;

constexpr std::size_t kTopNameWidth = 24;

std::string bar(double used, double total, std::size_t width) {
  const double part = total > 0 ? std::clamp(used / total, 0.0, 1.0) : 0;
  const auto full = static_cast<std::size_t>(part * static_cast<double>(width) + 0.5);
  return "[" + std::string(full, '#') + std::string(width - full, '-') + "]";
}

struct Totals {
  double gpus = 0, gpus_used = 0, cpus = 0, cpus_free = 0;
  std::size_t closed = 0;
  bool made_up = false;
};

Totals totals_of(const std::vector<Json>& nodes) {
  Totals totals;
  for (const Json& node : nodes) {
    totals.gpus += number_at(node, "gpus");
    totals.gpus_used +=
        number_at(node, "gpus_used", number_at(node, "gpus") - number_at(node, "gpus_free"));
    totals.cpus += number_at(node, "cpus");
    totals.cpus_free += number_at(node, "cpus_free");
    totals.closed += flag_at(node, "open", true) ? 0 : 1;
    totals.made_up = totals.made_up || flag_at(node, "gpus_virtual");
  }
  return totals;
}

Lines header(const TopData& data, std::size_t running) {
  const Totals all = totals_of(data.nodes);
  Lines lines;
  lines.push_back(fmt::format("muster  {}  {}", printable(data.where), local_time(data.at)));
  lines.push_back(fmt::format(
      "nodes {}{}   GPUs {} {:.0f}/{:.0f}{}   CPUs {:.4g}/{:.4g}   running {}   waiting {}",
      data.nodes.size(), all.closed > 0 ? fmt::format(" ({} unschedulable)", all.closed) : "",
      bar(all.gpus_used, all.gpus, 20), all.gpus_used, all.gpus, all.made_up ? " (virtual)" : "",
      all.cpus - all.cpus_free, all.cpus, grouped(running),
      grouped(data.active - std::min<std::uint64_t>(data.active, running))));
  lines.push_back(data.trouble.empty() ? "" : "! " + printable(data.trouble));
  return lines;
}

std::string figure(const Json& job, const char* key) {
  const auto found = job.find("progress");
  if (found == job.end() || !found->is_object() || !found->contains(key)) return "-";
  const double value = number_at(*found, key);
  return std::string_view(key) == "step" ? fmt::format("{:.0f}", value)
                                         : fmt::format("{:.4g}", value);
}

Table running_table(const std::vector<Json>& jobs, double now) {
  Table table({right("ID"), left("NAME"), left("USER"), left("STATE"), right("GPUS"), right("TIME"),
               right("STEP"), right("LOSS"), right("RATE/S"), left("WHERE")});
  for (const Json& job : jobs) {
    table.add_row({job_id_text(job), cut_text(printable(name_text(job)), kTopNameWidth),
                   text_at(job, "user"), state_text(job), std::to_string(count_at(job, "gpus")),
                   time_text(job, now), figure(job, "step"), figure(job, "loss"),
                   figure(job, "rate"), text_at(job, "where")});
    table.tint(3, state_tint(job));
  }
  return table;
}

Table waiting_table(const std::vector<Json>& jobs, double now) {
  Table table({right("ID"), left("NAME"), left("USER"), left("TENANT"), left("STATE"),
               right("GPUS"), right("WAITED"), left("WHY")});
  for (const Json& job : jobs) {
    table.add_row({job_id_text(job), cut_text(printable(name_text(job)), kTopNameWidth),
                   text_at(job, "user"), tenant_text(job), state_text(job),
                   std::to_string(count_at(job, "gpus")), time_text(job, now),
                   text_at(job, "why")});
    table.tint(4, state_tint(job));
  }
  return table;
}

// A table that shows its headers and `shown` rows, starting with row `first`.
struct JobSection {
  Lines headers;
  Lines rows;
  std::size_t shown = 0;
  std::size_t first = 0;

  std::size_t hidden() const { return rows.size() - shown; }
  void append_to(Lines& out) const {
    if (rows.empty()) return;
    out.insert(out.end(), headers.begin(), headers.end());
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
    out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(shown));
  }
};

JobSection section_of(const Table& table, const TopView& view) {
  JobSection section;
  const std::string text = table.render(view.colors, view.width);
  for (const std::string_view line :
       split(std::string_view(text).substr(0, text.size() - 1), '\n')) {
    section.rows.emplace_back(line);
  }
  const auto headers = static_cast<std::ptrdiff_t>(section.rows.size() - table.row_count());
  section.headers.assign(section.rows.begin(), section.rows.begin() + headers);
  section.rows.erase(section.rows.begin(), section.rows.begin() + headers);
  return section;
}

// Running jobs get the rows that they need, but at least a third of the rows are for waiting jobs.
void share_rows(JobSection& running, JobSection& waiting, std::size_t room, TopView& view) {
  const std::size_t all = running.rows.size();
  const std::size_t rest = room - std::min(room, all);
  waiting.shown = std::min(waiting.rows.size(), std::max(room / 3, rest));
  running.shown = std::min(all, room - waiting.shown);
  view.scroll = std::min(view.scroll, running.hidden() + waiting.hidden());
  running.first = std::min(view.scroll, running.hidden());
  waiting.first = view.scroll - running.first;
}

// Returns the width of a line in columns, without its color codes.
std::size_t shown_width(std::string_view line) {
  std::size_t width = 0;
  while (!line.empty()) {
    const bool escape = line.front() == '\x1b';
    const std::size_t end = escape ? line.find('m') : first_utf8_char(line).bytes - 1;
    const std::string_view piece = line.substr(0, end == std::string_view::npos ? end : end + 1);
    width += escape ? 0 : display_width(piece);
    line.remove_prefix(piece.size());
  }
  return width;
}

// Cuts a line, which may contain color codes, to `width` columns and marks the cut with "…".
std::string clipped(std::string_view line, std::size_t width) {
  if (shown_width(line) <= width) return std::string(line);
  width -= std::min<std::size_t>(width, 1);
  std::string out;
  std::size_t used = 0;
  bool colored = false;
  while (!line.empty()) {
    const bool escape = line.front() == '\x1b';
    const std::size_t end = escape ? line.find('m') : first_utf8_char(line).bytes - 1;
    const std::string_view piece = line.substr(0, end == std::string_view::npos ? end : end + 1);
    used += escape ? 0 : display_width(piece);
    if (used > width) break;
    colored = colored || escape;
    out += piece;
    line.remove_prefix(piece.size());
  }
  return out + (colored ? "\x1b[0m…" : "…");
}

}  // namespace

std::vector<std::string> top_lines(const TopData& data, TopView& view) {
  const auto waits = std::find_if(data.jobs.begin(), data.jobs.end(),
                                  [](const Json& job) { return !holds_gpus(job); });
  const std::vector<Json> run(data.jobs.begin(), waits);
  const std::vector<Json> wait(waits, data.jobs.end());
  Lines lines = header(data, run.size());
  JobSection running = section_of(running_table(run, data.at), view);
  JobSection waiting = section_of(waiting_table(wait, data.at), view);
  // The header lines, both table headers, a line between the tables and one below.
  const std::size_t fixed = lines.size() + running.headers.size() + waiting.headers.size() + 2;
  share_rows(running, waiting, view.height - std::min(view.height, fixed), view);
  running.append_to(lines);
  if (!run.empty() && !wait.empty()) lines.emplace_back();
  waiting.append_to(lines);
  if (data.jobs.empty()) lines.emplace_back("no jobs");
  const std::uint64_t seen = running.shown + waiting.shown;
  if (seen < data.active) {
    lines.push_back(fmt::format("… {} more", grouped(data.active - seen)));
  }
  if (lines.size() > view.height) lines.resize(view.height);
  for (std::string& line : lines) {
    if (view.width > 0) line = clipped(line, view.width);
  }
  return lines;
}

}  // namespace muster
