#include "cli/sim/sweep_cells.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file/atomic_file.h"
#include "base/text/text.h"
#include "base/types/digest.h"

namespace muster {

namespace {

// Options whose value may be a file.
constexpr std::array<std::string_view, 7> kFiles = {"trace", "throughputs", "cluster", "profiles",
                                                    "pairs", "tenants",     "service"};
constexpr std::size_t kMaxResultBytes = 1 << 20;

Error at(const std::string& file, const GridAxis& axis, std::string_view what) {
  return Error{fmt::format("{}:{}: {}: {}", file, axis.line, axis.option, what)};
}

}  // namespace

CellRequest::CellRequest() : command_(parser_.root().add_subcommand("sim")) {
  sim_.add_options(command_);
}

Result<std::unique_ptr<CellRequest>> CellRequest::make(const Grid& grid, std::size_t cell,
                                                       const std::string& file) {
  std::unique_ptr<CellRequest> request(new CellRequest);
  std::vector<std::string> names;
  for (const Option option : request->command_.options()) {
    if (option.name() != "--help") names.push_back(option.name().substr(2));
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::vector<std::string_view> values = grid.cell(cell);
  std::vector<std::string> words = {"sim"};
  for (std::size_t i = 0; i < grid.axes.size(); ++i) {
    const GridAxis& axis = grid.axes[i];
    if (std::find(known.begin(), known.end(), axis.option) == known.end()) {
      return at(file, axis,
                "not an option of muster sim: " + in_quotes(axis.option) +
                    suggestion(axis.option, known));
    }
    words.push_back(fmt::format("--{}={}", axis.option, values[i]));
  }
  const Parser::Outcome outcome = request->parser_.parse(words);
  if (outcome.kind != Parser::Outcome::Kind::kRun) {
    return Error{fmt::format("{}: cell {}: {}", file, cell + 1, outcome.reason)};
  }
  const Result<std::size_t> runs = request->sim_.count_runs();
  const Error told = runs.ok() ? Error{""} : runs.error();
  if (runs.ok() && runs.value() == 1) return request;
  for (std::size_t i = 0; i < grid.axes.size();
       ++i) {  // Find the axis with the error, if possible.
    const bool list = runs.ok() && values[i].find(',') != std::string_view::npos &&
                      (grid.axes[i].option == "policy" || grid.axes[i].option == "scheduler" ||
                       grid.axes[i].option == "mechanism" || grid.axes[i].option == "placement" ||
                       grid.axes[i].option == "estimates");
    if (list) {
      return at(file, grid.axes[i],
                in_quotes(values[i]) + ": several values in one cell; write [" +
                    std::string(values[i]) + "]");
    }
    if (!runs.ok() && told.message.starts_with("--" + grid.axes[i].option + ":")) {
      return at(file, grid.axes[i], trim(told.message.substr(grid.axes[i].option.size() + 3)));
    }
  }
  return Error{fmt::format("{}: cell {}: {}", file, cell + 1,
                           runs.ok() ? "several runs in one cell" : told.message)};
}

Result<std::unique_ptr<CellStore>> CellStore::open(const std::string& dir) {
  std::error_code status;
  std::filesystem::create_directories(dir + "/cells", status);
  if (status) {
    return Error{fmt::format("--out {}: cannot create the directory: {}", dir, status.message())};
  }
  std::unique_ptr<CellStore> store(new CellStore(dir));
  const std::string lock = dir + "/lock";
  store->lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (store->lock_ < 0) return Error{fmt::format("{}: {}", lock, std::strerror(errno))};
  if (flock(store->lock_, LOCK_EX | LOCK_NB) != 0) {
    return Error{fmt::format("--out {}: another sweep is using this directory", dir)};
  }
  store->tidy();
  return store;
}

std::unique_ptr<CellStore> CellStore::join(const std::string& dir) {
  return std::unique_ptr<CellStore>(new CellStore(dir));
}

CellStore::~CellStore() {
  if (lock_ >= 0) ::close(lock_);
}

Result<std::string> CellStore::file_digest(const std::string& path) {
  const auto known = digests_.find(path);
  if (known != digests_.end()) return known->second;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{fmt::format("{}: cannot read: {}", path, std::strerror(errno))};
  Digest digest;
  std::array<char, 1 << 16> buffer;
  while (file.read(buffer.data(), buffer.size()) || file.gcount() > 0) {
    digest.add(std::string_view(buffer.data(), static_cast<std::size_t>(file.gcount())));
  }
  return digests_[path] = digest.hex();
}

Result<std::string> CellStore::key(const Grid& grid, std::size_t cell) {
  const std::vector<std::string_view> values = grid.cell(cell);
  std::map<std::string_view, std::string_view> options;  // Sorted: the grid's order is irrelevant.
  for (std::size_t i = 0; i < values.size(); ++i) options[grid.axes[i].option] = values[i];
  Digest digest;
  digest.add(kCellVersion);
  for (const auto& [option, value] : options) {
    digest.add(option);
    digest.add(value);
    const bool may_be_file = std::find(kFiles.begin(), kFiles.end(), option) != kFiles.end();
    std::error_code ignored;
    if (!may_be_file || !std::filesystem::is_regular_file(value, ignored)) continue;
    const Result<std::string> contents = file_digest(std::string(value));
    if (!contents.ok()) return contents.error();
    digest.add(contents.value());
  }
  return digest.hex();
}

std::optional<std::string> CellStore::find(const std::string& key) const {
  std::error_code status;
  const std::uintmax_t size = std::filesystem::file_size(path(key), status);
  if (status || size > kMaxResultBytes) return std::nullopt;
  std::ifstream file(path(key), std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!nlohmann::json::accept(text)) return std::nullopt;
  return text;
}

MaybeError CellStore::save(const std::string& key, const std::string& result) const {
  // Tried twice: a sweep that starts now may delete the temporary file as one of a killed worker.
  if (!write_atomically(path(key), result)) return std::nullopt;
  return write_atomically(path(key), result);
}

std::size_t CellStore::take_up(std::vector<SweepCell>& cells) const {
  // Lists the directory once instead of looking up each cell, because it may be on a network disk.
  std::set<std::string> there;
  for (std::string& name : names_in(dir_ + "/cells")) there.insert(std::move(name));
  std::size_t taken = 0;
  for (SweepCell& cell : cells) {
    if (!cell.result.empty() || !there.contains(cell.key + ".json")) continue;
    cell.result = find(cell.key).value_or("");
    taken += cell.result.empty() ? 0 : 1;
  }
  return taken;
}

void CellStore::tidy() const {
  for (const std::string& name : names_in(dir_ + "/cells")) {
    std::error_code ignored;
    if (!name.ends_with(".json")) std::filesystem::remove(dir_ + "/cells/" + name, ignored);
  }
}

std::vector<std::string> names_in(const std::string& dir) {
  std::vector<std::string> names;
  std::error_code status;
  std::filesystem::directory_iterator at(dir, status);
  for (const std::filesystem::directory_iterator end; !status && at != end; at.increment(status)) {
    names.push_back(at->path().filename().string());
  }
  return names;
}

}  // namespace muster
