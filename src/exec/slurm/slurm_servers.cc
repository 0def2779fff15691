#include "exec/slurm/slurm_servers.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/text/text.h"
#include "exec/slurm/commands.h"

namespace muster {

namespace {

constexpr std::int32_t kMostGpus = 64;  // The engine's, of one server.

std::string identity_words() {
  return may_run_as_others() ? "jobs run as whoever submits them"
                             : "jobs run under the manager's account";
}

}  // namespace

std::string partition_words(const SlurmSettings& settings) {
  return settings.partition.empty() ? "Slurm's default partition"
                                    : "Slurm's partition " + in_quotes(settings.partition);
}

Result<SlurmServers> servers_from(const SlurmSettings& settings,
                                  const std::vector<SlurmNode>& nodes,
                                  const std::vector<std::pair<std::string, std::string>>& switches,
                                  bool enforces) {
  if (nodes.empty()) {
    return Error{
        partition_words(settings) + " is not there, or has no nodes; 'muster doctor' says more",
        ErrorCode::kNotFound};
  }
  SlurmServers found;
  for (const SlurmNode& node : nodes) {
    if (node.gpus == 0) continue;
    ServerFacts server;
    server.name = node.name;
    server.rack = "rack";
    for (const auto& [name, leaf] : switches) {
      if (name == node.name) server.rack = leaf;
    }
    if (const auto mapped = settings.racks.find(node.name); mapped != settings.racks.end()) {
      server.rack = mapped->second;
    }
    server.gpu_type = node.gpu_type.empty() ? "gpu" : node.gpu_type;
    server.gpus = std::min(node.gpus, kMostGpus);
    server.cpu_milli = node.cpus * 1000;
    server.mem_mib = node.mem_mib;
    server.full_isolation = enforces;
    server.words.push_back("by Slurm; " + identity_words());
    if (!enforces) {
      server.words.push_back(
          "CPU and memory are watched by the shim; Slurm enforces neither without task/cgroup");
    }
    found.addresses[node.name] = node.address.empty() ? node.name : node.address;
    found.servers.push_back(std::move(server));
  }
  if (found.servers.empty()) {
    return Error{
        partition_words(settings) + " has no server with GPUs: none says Gres=gpu:N in slurm.conf",
        ErrorCode::kNotFound};
  }
  std::sort(found.servers.begin(), found.servers.end(),
            [](const ServerFacts& a, const ServerFacts& b) { return a.name < b.name; });
  return found;
}

Result<std::vector<SlurmNode>> within_reservation(const SlurmSettings& settings,
                                                  std::vector<SlurmNode> nodes,
                                                  const SlurmWords& words) {
  if (settings.reservation.empty()) return nodes;
  const Result<std::vector<std::string>> names = expand_hosts(word_of(words, "Nodes"));
  if (!names.ok() || names.value().empty()) {
    return Error{
        "Slurm's reservation " + in_quotes(settings.reservation) + " is not there, or has no nodes",
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

Result<std::vector<ServerFacts>> find_slurm_servers(const SlurmSettings& given) {
  Commands commands;
  SlurmSettings settings = given;
  if (settings.partition.empty()) {
    const CommandResult said = commands.run(partition_argv(""), settings.timeout);
    settings.partition = word_of(read_partition(said.ok() ? said.out : ""), "PartitionName");
    if (said.ok() && settings.partition.empty()) {
      return Error{"Slurm has no default partition: say which one is to be used",
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
  Result<SlurmServers> found =
      servers_from(settings, nodes.value(), read_topology(topology.ok() ? topology.out : ""),
                   config.ok() && enforces_limits(read_config(config.out)));
  if (!found.ok()) return found.error();
  return std::move(found.value().servers);
}

}  // namespace muster
