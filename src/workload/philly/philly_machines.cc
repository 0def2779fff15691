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

// In the file, the second and the third name begin with a blank.
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

  MaybeError read();
  const std::vector<Machine>& machines() const { return machines_; }

 private:
  bool next_line();
  MaybeError split();
  MaybeError read_header();
  MaybeError read_row();
  MaybeError read_number(std::size_t column, std::string_view text, std::int64_t most,
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

MaybeError MachineList::split() {
  if (const MaybeError refusal = splitter_.split(lines_.line())) return fail(refusal->message);
  if (splitter_.fields().size() == kMachineColumns.size()) return std::nullopt;
  return fail(fmt::format("columns: {} instead of {}: {}", splitter_.fields().size(),
                          kMachineColumns.size(), in_quotes(lines_.line())));
}

MaybeError MachineList::read_header() {
  if (!next_line()) return Error{name_ + ":1: the file is empty"};
  if (MaybeError refusal = split()) return refusal;
  if (std::equal(kMachineColumns.begin(), kMachineColumns.end(), splitter_.fields().begin()))
    return std::nullopt;
  return fail(fmt::format("header: expected '{}', got {}", fmt::join(kMachineColumns, ", "),
                          in_quotes(lines_.line())));
}

MaybeError MachineList::read_number(std::size_t column, std::string_view text, std::int64_t most,
                                    std::int32_t& out) {
  const Result<std::int64_t> number = parse_int(text);
  if (!number.ok()) return fail(column, number.error().message);
  if (number.value() < 0 || number.value() > most) {
    return fail(column, fmt::format("not between 0 and {}: {}", most, in_quotes(text)));
  }
  out = static_cast<std::int32_t>(number.value());
  return std::nullopt;
}

MaybeError MachineList::read_row() {
  constexpr std::int64_t kMaxMemory = 1'000'000;
  if (MaybeError refusal = split()) return refusal;
  const std::vector<std::string_view>& cells = splitter_.fields();
  Machine machine;
  if (cells[0].empty()) return fail(0, "empty: ''");
  if (const char* fault = text_fault(cells[0])) {
    return fail(0, fmt::format("{}: {}", fault, in_quotes(cells[0])));
  }
  const std::size_t known = seen_.size();
  machine.name = seen_[seen_.intern(cells[0])];
  if (seen_.size() == known) return fail(0, "given twice: " + in_quotes(cells[0]));
  if (MaybeError refusal = read_number(1, cells[1], kMaxGpusPerNode, machine.gpus)) return refusal;
  std::string_view memory = cells[2];
  if (!memory.ends_with("GB")) return fail(2, "not a size such as 12GB: " + in_quotes(memory));
  memory.remove_suffix(2);
  if (MaybeError refusal = read_number(2, trim(memory), kMaxMemory, machine.mem_gb)) return refusal;
  machines_.push_back(std::move(machine));
  return std::nullopt;
}

MaybeError MachineList::read() {
  if (MaybeError refusal = read_header()) return refusal;
  while (next_line()) {
    if (MaybeError refusal = read_row()) return refusal;
  }
  return std::nullopt;
}

// Returns "listed 2, used 8: 238, ..." with the numbers of nodes, the most frequent pair first.
std::string by_frequency(
    const std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t>& pairs) {
  std::vector<std::pair<std::int64_t, std::string>> lines;
  for (const auto& [pair, count] : pairs) {
    lines.emplace_back(-count,
                       fmt::format("listed {}, used {}: {}", pair.first, pair.second, count));
  }
  std::sort(lines.begin(), lines.end());
  std::vector<std::string> texts;
  for (auto& [count, text] : lines) texts.push_back(std::move(text));
  return first_few(texts);
}

void join(const std::vector<Machine>& machines, History& history) {
  NameTable known;
  for (const HistoryNode& node : history.nodes) known.intern(node.name);
  const std::size_t ran_jobs = history.nodes.size();
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> contradictions;
  std::int64_t differing = 0;
  std::int64_t listed = 0;
  for (const Machine& machine : machines) {
    const std::uint32_t entry = known.intern(machine.name);
    if (entry > history.nodes.size()) {
      history.nodes.push_back(HistoryNode{machine.name});
    }
    HistoryNode& node = history.nodes[entry - 1];
    node.listed = machine.gpus;
    node.gpu_mem_gb = machine.mem_gb;
    if (entry <= ran_jobs) ++listed;
    if (node.gpus == 0) {
      node.gpus = machine.gpus;
    } else if (node.gpus != machine.gpus) {
      ++contradictions[{machine.gpus, node.gpus}];
      ++differing;
    }
  }
  add_note(history.notes, differing, "node",
           "on which jobs used another number of GPUs than listed; the used number counts (" +
               by_frequency(contradictions) + ")");
  add_note(history.notes, static_cast<std::int64_t>(ran_jobs) - listed, "node",
           "in use but not in the machine list");
  add_note(history.notes, static_cast<std::int64_t>(history.nodes.size() - ran_jobs), "node",
           "in the machine list but never in use");
}

}  // namespace

MaybeError parse_philly_machines(std::string_view text, const std::string& name, History& history) {
  MachineList list(text, name);
  if (MaybeError refusal = list.read()) return refusal;
  join(list.machines(), history);
  return std::nullopt;
}

MaybeError add_philly_machines(const std::string& path, History& history) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) return text.error();
  return parse_philly_machines(text.value(), path, history);
}

}  // namespace muster
