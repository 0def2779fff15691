#include "cli/sim/sweep_plan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file/atomic_file.h"
#include "base/text/text.h"

namespace muster {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kFailed = "failed-";
constexpr std::size_t kMaxFailureBytes = 4096;
constexpr std::size_t kMaxTaskLogBytes = 16 << 10;

std::string read_text(const std::string& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// Keys are used as file names, so anything else is rejected.
bool is_key(const std::string& key) {
  return !key.empty() && key.find_first_not_of("0123456789abcdef") == std::string::npos;
}

SweepPlan plan_of(const Json& json) {
  SweepPlan plan;
  json.at("file").get_to(plan.file);
  json.at("cwd").get_to(plan.cwd);
  json.at("out").get_to(plan.out);
  json.at("inputs").get_to(plan.inputs);
  for (const Json& axis : json.at("axes")) {
    plan.grid.axes.push_back({axis.at("option").get<std::string>(),
                              axis.at("values").get<std::vector<std::string>>(),
                              axis.at("line").get<int>()});
  }
  for (const auto& [number, key] :
       json.at("cells").get<std::vector<std::pair<std::size_t, std::string>>>()) {
    plan.cells.push_back({number, key, ""});
  }
  return plan;
}

bool is_sound(const SweepPlan& plan) {
  std::size_t cells = 1;
  for (const GridAxis& axis : plan.grid.axes) {
    cells *= axis.values.size();
    if (cells == 0 || cells > kMaxCells) return false;
  }
  return plan.out.starts_with('/') &&
         std::all_of(plan.cells.begin(), plan.cells.end(), [&](const SweepCell& cell) {
           return cell.number < cells && is_key(cell.key);
         });
}

std::string node_name() {
  if (const char* const name = std::getenv("SLURMD_NODENAME")) return name;
  std::array<char, 256> host = {};
  return ::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "this machine";
}

// A node may have other files under the same path, which would give wrong results.
MaybeError check_inputs(const SweepPlan& plan, CellStore& store) {
  for (const auto& [path, digest] : plan.inputs) {
    const Result<std::string> here = store.file_digest(path);
    if (!here.ok()) return Error{fmt::format("{} (on {})", here.error().message, node_name())};
    if (here.value() == digest) continue;
    return Error{fmt::format("{}: differs on {} from the file where the sweep was started", path,
                             node_name())};
  }
  return std::nullopt;
}

}  // namespace

std::string plan_text(const SweepPlan& plan) {
  Json axes = Json::array();
  for (const GridAxis& axis : plan.grid.axes) {
    axes.push_back({{"option", axis.option}, {"values", axis.values}, {"line", axis.line}});
  }
  Json cells = Json::array();
  for (const SweepCell& cell : plan.cells) cells.push_back({cell.number, cell.key});
  const Json json = {{"version", kCellVersion},  {"file", plan.file},     {"cwd", plan.cwd},
                     {"out", plan.out},          {"inputs", plan.inputs}, {"axes", std::move(axes)},
                     {"cells", std::move(cells)}};
  // Paths may contain invalid UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Result<SweepPlan> read_plan(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{
        fmt::format("{}: cannot read: {} (on {})", path, std::strerror(errno), node_name())};
  }
  const Json json = Json::parse(file, nullptr, false);
  const bool object = json.is_object() && json.contains("version");
  if (object && json["version"] != kCellVersion) {
    return Error{
        fmt::format("{}: written by another version of muster than that on {}", path, node_name())};
  }
  try {
    SweepPlan plan = plan_of(json);
    if (object && is_sound(plan)) return plan;
  } catch (const Json::exception&) {
    // Reported below.
  }
  return Error{path + ": not the plan of a sweep"};
}

Result<Slice> parse_slice(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '/');
  const Error wrong{"--slice: must be NUMBER/TOTAL, such as 3/12: " + in_quotes(text)};
  if (parts.size() != 2) return wrong;
  const Result<std::int64_t> number = parse_int(parts[0]);
  const Result<std::int64_t> of = parse_int(parts[1]);
  if (!number.ok() || !of.ok() || number.value() < 1 || number.value() > of.value()) return wrong;
  return Slice{static_cast<std::size_t>(number.value()), static_cast<std::size_t>(of.value())};
}

std::string task_log(std::string_view slice) { return fmt::format("task-{}.log", slice); }

std::map<std::string, std::string> failures_in(const std::string& plan_dir) {
  std::map<std::string, std::string> failures;
  for (const std::string& name : names_in(plan_dir)) {
    if (!name.starts_with(kFailed)) continue;
    const std::string key = name.substr(kFailed.size());
    if (!is_key(key)) continue;  // A temporary file that is still being written.
    failures[key] = read_text(plan_dir + "/" + name, kMaxFailureBytes);
  }
  return failures;
}

std::optional<std::string> words_in(const std::string& plan_dir) {
  std::vector<std::string> names = names_in(plan_dir);
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("task-"); });
  if (names.empty()) return std::nullopt;
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string text = read_text(plan_dir + "/" + name, kMaxTaskLogBytes);
    const std::string_view said = trim(text);
    if (said.empty()) continue;
    std::string line(said.substr(said.rfind('\n') + 1));
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    return line;
  }
  return "";
}

int run_slice(const std::string& plan_path, Slice slice, int threads, Streams streams) {
  Result<SweepPlan> plan = read_plan(plan_path);
  if (!plan.ok()) return complain(streams, plan.error());
  // A missing working directory only matters for relative paths, and check_inputs() checks those.
  std::error_code ignored;
  const std::string plan_dir = std::filesystem::absolute(plan_path, ignored).parent_path().string();
  std::filesystem::current_path(plan.value().cwd, ignored);
  const std::unique_ptr<CellStore> store = CellStore::join(plan.value().out);
  if (const MaybeError refusal = check_inputs(plan.value(), *store)) {
    return complain(streams, *refusal);
  }
  std::vector<SweepCell> cells;
  for (std::size_t i = slice.number - 1; i < plan.value().cells.size(); i += slice.of) {
    cells.push_back(plan.value().cells[i]);
  }
  store->take_up(cells);
  catch_interrupts();
  const std::optional<CellFailure> failure =
      simulate_cells(plan.value().grid, plan.value().file, *store, cells, threads, [] {});
  if (!failure) return interrupted() ? kExitInterrupted : kExitDone;
  const int status = complain(streams, Error{failure->error.message, ErrorCode::kSystem});
  const std::string note = fmt::format("{}/{}{}", plan_dir, kFailed, failure->key);
  if (const MaybeError refusal = write_atomically(note, failure->error.message)) {
    complain(streams, *refusal);
  }
  return status;
}

}  // namespace muster
