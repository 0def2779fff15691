#include "workload/trace/read_summary.h"

#include <fmt/format.h>

#include <numeric>
#include <string_view>

namespace muster {

namespace {

struct Wording {
  std::string_view one;   // "1 row that ..."
  std::string_view many;  // "2 rows that ..."
};

// By SkippedRows.
constexpr Wording kReasons[kLeftOutReasons] = {
    {"is part of a job that has its own row", "are parts of jobs that have their own rows"},
    {"requests no GPU", "request no GPU"},
    {"never ran", "never ran"},
    {"had not finished", "had not finished"},
    {"ends before it starts", "end before they start"},
};

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// "cancelled 2, failed 1".
std::string cut_short_text(const ReadSummary& tally, const FormatSpec& format) {
  std::string text;
  for (std::size_t i = 0; i < tally.cut_short.size(); ++i) {
    if (tally.cut_short[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format.states[i].shown,
                        tally.cut_short[i]);
  }
  return text;
}

}  // namespace

std::int64_t ReadSummary::all_left_out() const {
  return std::accumulate(left_out.begin(), left_out.end(), std::int64_t{0});
}

std::vector<std::string> notes_of(const ReadSummary& tally, const FormatSpec& format) {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < kLeftOutReasons; ++i) {
    const std::int64_t rows = tally.left_out[i];
    if (rows == 0) continue;
    notes.push_back(fmt::format("skipped: {} that {}", counted(rows, "row"),
                                rows == 1 ? kReasons[i].one : kReasons[i].many));
  }
  const std::int64_t cut_short =
      std::accumulate(tally.cut_short.begin(), tally.cut_short.end(), std::int64_t{0});
  if (cut_short > 0) {
    notes.push_back(fmt::format(
        "{} did not complete ({}); {} until then", counted(cut_short, "job"),
        cut_short_text(tally, format),
        cut_short == 1 ? "its duration is the run time" : "their durations are the run times"));
  }
  if (tally.rounded_up > 0) {
    notes.push_back(fmt::format("fractional GPUs were rounded up to whole GPUs in {}",
                                counted(tally.rounded_up, "job")));
  }
  if (tally.several_types > 0) {
    notes.push_back(fmt::format("a list of GPU types was read as any type in {}",
                                counted(tally.several_types, "job")));
  }
  if (tally.late > 0) {
    notes.push_back(
        fmt::format("sorted by submit time: {} out of order", counted(tally.late, "job")));
  }
  return notes;
}

}  // namespace muster
