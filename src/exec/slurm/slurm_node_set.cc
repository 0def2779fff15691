#include "exec/slurm/slurm_node_set.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/text/text.h"
#include "exec/slurm/command_runner.h"

namespace muster {

namespace {

constexpr std::int32_t kMaxGpus = 64;  // Limit of the engine per node.

std::string identity_words() {
  return may_run_as_others() ? "jobs run as the users who submit them"
                             : "jobs run as the user of the manager";
}

}  // namespace

std::string partition_words(const SlurmSettings& settings) {
  return settings.partition.empty() ? "Slurm's default partition"
                                    : "Slurm's partition " + in_quotes(settings.partition);
}

Result<SlurmNodeSet> nodes_from(const SlurmSettings& settings, const std::vector<SlurmNode>& nodes,
                                const std::vector<std::pair<std::string, std::string>>& switches,
                                bool enforces) {
  if (nodes.empty()) {
    return Error{partition_words(settings) + " does not exist or has no nodes; run 'muster doctor'",
                 ErrorCode::kNotFound};
  }
  SlurmNodeSet found;
  for (const SlurmNode& node : nodes) {
    if (node.gpus == 0) continue;
    NodeDescription described;
    described.name = node.name;
    described.rack = "rack";
    for (const auto& [name, leaf] : switches) {
      if (name == node.name) described.rack = leaf;
    }
    if (const auto mapped = settings.racks.find(node.name); mapped != settings.racks.end()) {
      described.rack = mapped->second;
    }
    described.gpu_type = node.gpu_type.empty() ? "gpu" : node.gpu_type;
    described.gpus = std::min(node.gpus, kMaxGpus);
    described.cpu_milli = node.cpus * 1000;
    described.mem_mib = node.mem_mib;
    described.full_isolation = enforces;
    described.words.push_back("by Slurm; " + identity_words());
    if (!enforces) {
      described.words.push_back(
          "the shim enforces CPU and memory limits; Slurm does so only with task/cgroup");
    }
    found.addresses[node.name] = node.address.empty() ? node.name : node.address;
    found.nodes.push_back(std::move(described));
  }
  if (found.nodes.empty()) {
    return Error{
        partition_words(settings) + " has no nodes with GPUs; set Gres=gpu:N in slurm.conf",
        ErrorCode::kNotFound};
  }
  std::sort(found.nodes.begin(), found.nodes.end(),
            [](const NodeDescription& a, const NodeDescription& b) { return a.name < b.name; });
  return found;
}

Result<std::vector<SlurmNode>> within_reservation(const SlurmSettings& settings,
                                                  std::vector<SlurmNode> nodes,
                                                  const SlurmWords& words) {
  if (settings.reservation.empty()) return nodes;
  const Result<std::vector<std::string>> names = expand_hosts(word_of(words, "Nodes"));
  if (!names.ok() || names.value().empty()) {
    return Error{"Slurm's reservation " + in_quotes(settings.reservation) +
                     " does not exist or has no nodes",
                 ErrorCode::kNotFound};
  }
  const std::set<std::string> inside(names.value().begin(), names.value().end());
  std::erase_if(nodes, [&](const SlurmNode& node) { return !inside.contains(node.name); });
  return nodes;
}

bool may_run_as_others() { return ::geteuid() == 0; }

bool enforces_limits(const SlurmWords& config) {
  return word_of(config, "TaskPlugin").find("cgroup") != std::string_view::npos;
}

Result<std::vector<NodeDescription>> find_slurm_nodes(const SlurmSettings& given) {
  Commands commands;
  SlurmSettings settings = given;
  if (settings.partition.empty()) {
    const CommandResult said = commands.run(partition_argv(""), settings.timeout);
    settings.partition = word_of(read_partition(said.ok() ? said.out : ""), "PartitionName");
    if (said.ok() && settings.partition.empty()) {
      return Error{"Slurm has no default partition; set 'slurm: partition' in the configuration",
                   ErrorCode::kInvalid};
    }
  }
  const CommandResult sinfo = commands.run(sinfo_argv(settings.partition), settings.timeout);
  if (!sinfo.ok()) return Error{"Slurm does not answer: " + sinfo.words, ErrorCode::kUnavailable};
  Result<std::vector<SlurmNode>> nodes = read_sinfo(sinfo.out);
  if (nodes.ok() && !settings.reservation.empty()) {
    const CommandResult said =
        commands.run(reservation_argv(settings.reservation), settings.timeout);
    nodes = within_reservation(settings, std::move(nodes).value(),
                               said.ok() ? read_reservation(said.out) : SlurmWords());
  }
  if (!nodes.ok()) return nodes.error();
  const CommandResult topology = commands.run(topology_argv(), settings.timeout);
  const CommandResult config = commands.run(config_argv(), settings.timeout);
  Result<SlurmNodeSet> found =
      nodes_from(settings, nodes.value(), read_topology(topology.ok() ? topology.out : ""),
                 config.ok() && enforces_limits(read_config(config.out)));
  if (!found.ok()) return found.error();
  return std::move(found.value().nodes);
}

}  // namespace muster
