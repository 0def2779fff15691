// Arguments and output of sinfo and `scontrol show topology`.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text/text.h"
#include "exec/slurm/marked_table.h"
#include "exec/slurm/slurm.h"

namespace muster {
namespace {

constexpr std::array<std::string_view, 10> kNodeFields = {
    "NodeList", "StateLong", "StateComplete", "CPUsState", "Memory",
    "AllocMem", "Gres",      "GresUsed",      "NodeAddr",  "Reason"};

// Suffixes of states in sinfo; see https://slurm.schedmd.com/sinfo.html.
constexpr std::string_view kSigns = "*~#!%$@^-+";

std::string_view without_signs(std::string_view state) {
  while (!state.empty() && kSigns.find(state.back()) != std::string_view::npos) {
    state.remove_suffix(1);
  }
  return state;
}

bool has_any(const SlurmNode& node, std::initializer_list<std::string_view> words) {
  const auto is = [&](std::string_view said) {
    return std::find(words.begin(), words.end(), without_signs(said)) != words.end();
  };
  const auto flags = split(node.flags, '+');
  return is(node.state) || std::any_of(flags.begin(), flags.end(), is);
}

bool signed_with(const SlurmNode& node, std::string_view signs) {
  return node.state.substr(without_signs(node.state).size()).find_first_of(signs) !=
         std::string::npos;
}

// States in which a node accepts no new jobs, in old and new versions of Slurm.
bool closed(const SlurmNode& node) {
  return node.state.empty() || signed_with(node, "*%^!") ||
         has_any(node, {"down",          "drain",   "drained",        "draining",      "fail",
                        "failing",       "error",   "inval",          "invalid_reg",   "unknown",
                        "unk",           "future",  "not_responding", "no_respond",    "power_down",
                        "powering_down", "reboot",  "rebooting",      "reboot_issued", "perfctrs",
                        "blocked",       "external"});
}

struct Gpus {
  std::int64_t count = 0;
  std::string type;
  int types = 0;
};

// Splits "gpu:2" or "gpu:a100:3(IDX:0-2),gpu:(null):0(IDX:N/A),nic:1(S:0-1)". Commas inside
// brackets do not separate.
std::vector<std::string_view> gres_parts(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '(') ++depth;
    if (c == ')' && depth > 0) --depth;
    if (i == text.size() || (c == ',' && depth == 0)) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return parts;
}

Gpus gpus_of(std::string_view text) {
  constexpr std::int64_t kMaxGpus = 1 << 16;
  Gpus gpus;
  for (std::string_view part : gres_parts(text)) {
    if (part != "gpu" && !part.starts_with("gpu:")) continue;
    part.remove_prefix(std::min<std::size_t>(part.size(), 4));
    std::string_view type;
    const std::size_t colon = part.starts_with("(null):") ? 6 : part.find(':');
    const std::size_t bracket = part.find('(', part.starts_with('(') ? 1 : 0);
    if (colon < bracket) {
      type = part.substr(0, colon);
      part.remove_prefix(colon + 1);
    }
    part = part.substr(0, part.find('('));
    const std::int64_t count = part.empty() ? 1 : slurm_number(part);  // "gpu" alone is one.
    if (count < 0 || count > kMaxGpus) continue;
    gpus.count = std::min(gpus.count + count, kMaxGpus);
    ++gpus.types;
    gpus.type = gpus.types > 1 || type == "(null)" ? "" : std::string(type);
  }
  return gpus;
}

std::optional<SlurmNode> node_of(const std::vector<std::string_view>& row) {
  SlurmNode node;
  node.name = row[0];
  node.state = lowered(row[1]);
  node.flags = lowered(row[2]);
  const auto cpus = split(row[3], '/');  // Allocated, idle, other, total.
  if (node.name.empty() || node.state.empty() || cpus.size() != 4) return std::nullopt;
  node.cpus_used = slurm_number(cpus[0]);
  node.cpus = slurm_number(cpus[3]);
  node.mem_mib = slurm_number(row[4]);
  if (node.cpus < 0 || node.cpus_used < 0 || node.mem_mib < 0) return std::nullopt;
  node.mem_mib_used = std::max<std::int64_t>(slurm_number(row[5]), 0);
  const Gpus gpus = gpus_of(row[6]);
  node.gpus = static_cast<std::int32_t>(gpus.count);
  node.gpu_type = gpus.type;
  node.gpus_used = static_cast<std::int32_t>(gpus_of(row[7]).count);
  node.address = row[8];
  if (row[9] != "none" && row[9] != "(null)") node.reason = row[9];
  return node;
}

}  // namespace

bool SlurmNode::reserved() const {
  return has_any(*this, {"reserved", "resv", "maint", "maintenance"}) || signed_with(*this, "$");
}

bool SlurmNode::usable(bool in_reservation) const {
  return !closed(*this) && (in_reservation || !reserved());
}

bool SlurmNode::responding() const {
  return !signed_with(*this, "*") && !has_any(*this, {"not_responding", "no_respond"});
}

std::string SlurmNode::why_not() const {
  std::string what(without_signs(state));
  if (what.empty()) what = "in an unknown state";
  if (!closed(*this) && reserved() && what != "maint") what = "reserved";
  if (!reason.empty()) {
    return what + ": " + one_line(std::string_view(reason).substr(0, 200));
  }
  return responding() ? what : what + ": not responding";
}

std::vector<std::string> sinfo_argv(const std::string& partition) {
  std::vector<std::string> argv = {
      "sinfo", "--Node", "--noheader",
      "--Format=" + marked_format({kNodeFields.begin(), kNodeFields.end()}, random_mark())};
  argv.push_back(partition.empty() ? "--all"
                                   : "--partition=" + partition);  // sinfo does not accept both.
  return argv;
}

Result<std::vector<SlurmNode>> read_sinfo(std::string_view text) {
  const auto rows = read_marked(text, kNodeFields.size(), "sinfo");
  if (!rows.ok()) return rows.error();
  std::map<std::string, SlurmNode> nodes;  // sinfo has one row per node and partition.
  for (const auto& row : rows.value()) {
    if (auto node = node_of(row)) nodes.emplace(node->name, std::move(*node));
  }
  std::vector<SlurmNode> list;
  list.reserve(nodes.size());
  for (auto& [name, node] : nodes) list.push_back(std::move(node));
  return list;
}

std::vector<std::string> topology_argv() { return {"scontrol", "--oneliner", "show", "topology"}; }

std::vector<std::pair<std::string, std::string>> read_topology(std::string_view text) {
  std::map<std::string, std::string> leaf;
  for (const std::string_view line : split(text, '\n')) {
    std::string name;
    std::string_view hosts;
    bool is_leaf = false;
    for (const std::string_view word : split(line, ' ')) {
      if (word.starts_with("SwitchName=")) name = word.substr(11);
      if (word == "Level=0") is_leaf = true;
      if (word.starts_with("Nodes=")) hosts = word.substr(6);
    }
    const auto nodes = expand_hosts(hosts);
    if (!is_leaf || name.empty() || !nodes.ok()) continue;
    for (const std::string& node : nodes.value()) leaf.emplace(node, name);
  }
  return {leaf.begin(), leaf.end()};
}

}  // namespace muster
