#include "study/compare/loaded_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <system_error>

#include "base/file/text_file.h"
#include "base/text/text.h"
#include "workload/history/named_csv.h"
#include "workload/history/run_history.h"

namespace muster {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxRuns = 64;

bool holds_run(const fs::path& dir) {
  std::error_code ignored;
  return fs::is_regular_file(dir / "summary.json", ignored);
}

}  // namespace

Cell count_in(const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return {};
  if (at->is_number_unsigned()) {
    const auto count = at->get<std::uint64_t>();
    if (count > std::numeric_limits<std::int64_t>::max()) return std::to_string(count);
    return static_cast<std::int64_t>(count);
  }
  if (at->is_number_integer()) return at->get<std::int64_t>();
  return {};
}

double RunFiles::number(const char* key) const {
  const auto at = summary.find(key);
  return at != summary.end() && at->is_number() ? at->get<double>() : 0;
}

Cell RunFiles::count(const char* key) const { return count_in(summary, key); }

std::string RunFiles::text(const char* key) const {
  const auto at = summary.find(key);
  return at != summary.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::string last_part(const std::string& dir) {
  const fs::path path = fs::path(dir).lexically_normal();
  return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

Result<std::vector<std::string>> find_runs(const std::vector<std::string>& dirs) {
  std::vector<std::string> found;
  for (const std::string& dir : dirs) {
    std::error_code status;
    if (!fs::is_directory(dir, status)) return Error{dir + ": no such directory"};
    if (holds_run(dir)) {
      found.push_back(dir);
      continue;
    }
    std::vector<std::string> inside;
    for (fs::directory_iterator entry(dir, status), end; !status && entry != end;
         entry.increment(status)) {
      if (holds_run(entry->path())) inside.push_back(entry->path().string());
    }
    if (inside.empty()) {
      return Error{dir + ": contains no summary.json; create a run with muster sim --out DIR"};
    }
    std::sort(inside.begin(), inside.end());
    found.insert(found.end(), inside.begin(), inside.end());
  }
  if (found.size() > kMaxRuns) {
    return Error{fmt::format("{} runs; the maximum for a page is {}", found.size(), kMaxRuns)};
  }
  return found;
}

MaybeError parse_timeline(std::string_view text, const std::string& name, RunFiles& run) {
  constexpr std::array<std::string_view, 3> kNames = {"time_s", "busy_gpus", "waiting"};
  NamedCsv rows(text, name, kNames);
  if (MaybeError refusal = rows.read_header()) return refusal;
  return rows.for_each([&]() -> MaybeError {
    const Result<Instant> at = rows.time(0);
    if (!at.ok()) return at.error();
    const bool ascends = run.busy.empty() || at.value() >= run.busy.back().at;
    if (at.value() == Instant::never() || !ascends) {
      return rows.fail(
          0, "must not be empty or earlier than in the previous row: " + in_quotes(rows.cell(0)));
    }
    const Result<std::int32_t> busy = rows.count(1);
    const Result<std::int32_t> waiting = rows.count(2);
    if (!busy.ok()) return busy.error();
    if (!waiting.ok()) return waiting.error();
    // If several rows have the same time, the last one counts.
    if (!run.busy.empty() && at.value() == run.busy.back().at) {
      run.busy.pop_back();
      run.waiting.pop_back();
    }
    run.busy.push_back({at.value(), busy.value()});
    run.waiting.push_back({at.value(), waiting.value()});
    return std::nullopt;
  });
}

Result<RunFiles> read_run_files(const std::string& dir) {
  RunFiles run;
  run.name = last_part(dir);
  Result<History> history = from_run(dir);
  if (!history.ok()) return history.error();
  run.history = std::move(history).value();
  const Result<std::string> summary = read_text_file(dir + "/summary.json", Pipes::kRefused);
  if (!summary.ok()) return summary.error();
  run.summary = nlohmann::json::parse(summary.value(), nullptr, false);
  if (!run.summary.is_object()) return Error{dir + "/summary.json: not a JSON object"};
  const Result<std::string> timeline = read_text_file(dir + "/timeline.csv", Pipes::kRefused);
  if (!timeline.ok()) return timeline.error();
  if (const MaybeError refusal = parse_timeline(timeline.value(), dir + "/timeline.csv", run)) {
    return *refusal;
  }
  return run;
}

}  // namespace muster
