#include "workload/philly/philly_machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/file/csv.h"
#include "base/file/text_file.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "engine/model/topology.h"
#include "workload/history/notes.h"

namespace muster {

namespace {

// Without the blanks that the file has before the second and the third.
constexpr std::array<std::string_view, 3> kMachineColumns = {"machineId", "number of GPUs",
                                                             "single GPU mem"};

struct Machine {
  std::string name;
  std::int32_t gpus = 0;
  std::int32_t mem_gb = 0;
};

class MachineList {
 public:
  MachineList(std::string_view text, const std::string& name) : lines_(text), name_(name) {}

  Refusal read();
  const std::vector<Machine>& machines() const { return machines_; }

 private:
  bool next_line();
  Refusal split();
  Refusal read_header();
  Refusal read_row();
  Refusal read_number(std::size_t column, std::string_view text, std::int64_t most,
                      std::int32_t& out);
  Error fail(std::string_view what) const {
    return {fmt::format("{}:{}: {}", name_, lines_.number(), what)};
  }
  Error fail(std::size_t column, std::string_view what) const {
    return fail(fmt::format("{}: {}", kMachineColumns[column], what));
  }

  LineReader lines_;
  const std::string& name_;
  FieldSplitter splitter_;
  NameTable seen_;
  std::vector<Machine> machines_;
};

bool MachineList::next_line() {
  while (lines_.next()) {
    if (!trim(lines_.line()).empty()) return true;
  }
  return false;
}

Refusal MachineList::split() {
  if (const Refusal refusal = splitter_.split(lines_.line())) return fail(refusal->message);
  if (splitter_.fields().size() == kMachineColumns.size()) return std::nullopt;
  return fail(fmt::format("columns: {} instead of {}: {}", splitter_.fields().size(),
                          kMachineColumns.size(), in_quotes(lines_.line())));
}

Refusal MachineList::read_header() {
  if (!next_line()) return Error{name_ + ":1: the file is empty"};
  if (Refusal refusal = split()) return refusal;
  if (std::equal(kMachineColumns.begin(), kMachineColumns.end(), splitter_.fields().begin()))
    return std::nullopt;
  return fail(fmt::format("header: not '{}': {}", fmt::join(kMachineColumns, ", "),
                          in_quotes(lines_.line())));
}

Refusal MachineList::read_number(std::size_t column, std::string_view text, std::int64_t most,
                                 std::int32_t& out) {
  const Result<std::int64_t> number = parse_int(text);
  if (!number.ok()) return fail(column, number.error().message);
  if (number.value() < 0 || number.value() > most) {
    return fail(column, fmt::format("not from 0 to {}: {}", most, in_quotes(text)));
  }
  out = static_cast<std::int32_t>(number.value());
  return std::nullopt;
}

Refusal MachineList::read_row() {
  constexpr std::int64_t kMostMemory = 1'000'000;
  if (Refusal refusal = split()) return refusal;
  const std::vector<std::string_view>& cells = splitter_.fields();
  Machine machine;
  if (cells[0].empty()) return fail(0, "empty: ''");
  if (const char* fault = text_fault(cells[0])) {
    return fail(0, fmt::format("{}: {}", fault, in_quotes(cells[0])));
  }
  const std::size_t known = seen_.size();
  machine.name = seen_[seen_.intern(cells[0])];
  if (seen_.size() == known) return fail(0, "listed twice: " + in_quotes(cells[0]));
  if (Refusal refusal = read_number(1, cells[1], kMostGpusPerNode, machine.gpus)) return refusal;
  std::string_view memory = cells[2];
  if (!memory.ends_with("GB")) return fail(2, "not a size such as 12GB: " + in_quotes(memory));
  memory.remove_suffix(2);
  if (Refusal refusal = read_number(2, trim(memory), kMostMemory, machine.mem_gb)) return refusal;
  machines_.push_back(std::move(machine));
  return std::nullopt;
}

Refusal MachineList::read() {
  if (Refusal refusal = read_header()) return refusal;
  while (next_line()) {
    if (Refusal refusal = read_row()) return refusal;
  }
  return std::nullopt;
}

// "listed 2, seen 8: 238 servers", the most frequent first.
std::string by_frequency(
    const std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t>& pairs) {
  std::vector<std::pair<std::int64_t, std::string>> lines;
  for (const auto& [pair, count] : pairs) {
    lines.emplace_back(-count,
                       fmt::format("listed {}, seen {}: {}", pair.first, pair.second, count));
  }
  std::sort(lines.begin(), lines.end());
  std::vector<std::string> texts;
  for (auto& [count, text] : lines) texts.push_back(std::move(text));
  return first_few(texts);
}

void join(const std::vector<Machine>& machines, History& history) {
  NameTable known;
  for (const Server& server : history.servers) known.intern(server.name);
  const std::size_t ran_jobs = history.servers.size();
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> contradictions;
  std::int64_t differing = 0;
  std::int64_t listed = 0;
  for (const Machine& machine : machines) {
    const std::uint32_t entry = known.intern(machine.name);
    if (entry > history.servers.size()) {
      history.servers.push_back(Server{machine.name});
    }
    Server& server = history.servers[entry - 1];
    server.listed = machine.gpus;
    server.gpu_mem_gb = machine.mem_gb;
    if (entry <= ran_jobs) ++listed;
    if (server.gpus == 0) {
      server.gpus = machine.gpus;
    } else if (server.gpus != machine.gpus) {
      ++contradictions[{machine.gpus, server.gpus}];
      ++differing;
    }
  }
  add_note(history.notes, differing, "server",
           "listed with another number of GPUs than jobs used, which counts (" +
               by_frequency(contradictions) + ")");
  add_note(history.notes, static_cast<std::int64_t>(ran_jobs) - listed, "server",
           "in use but not in the list of machines");
  add_note(history.notes, static_cast<std::int64_t>(history.servers.size() - ran_jobs), "server",
           "in the list of machines but never in use");
}

}  // namespace

Refusal parse_philly_machines(std::string_view text, const std::string& name, History& history) {
  MachineList list(text, name);
  if (Refusal refusal = list.read()) return refusal;
  join(list.machines(), history);
  return std::nullopt;
}

Refusal add_philly_machines(const std::string& path, History& history) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) return text.error();
  return parse_philly_machines(text.value(), path, history);
}

}  // namespace muster
