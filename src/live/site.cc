#include "live/site.h"

#include <algorithm>

#include "exec/machine.h"

namespace muster {

namespace {

constexpr std::int64_t kLeastMemMib = 256;

// A little is left to the system and the manager; whole GiB, since kernels differ in the rest.
std::int64_t memory_for_jobs(const NodeFacts& machine) {
  const std::int64_t most = machine.mem_mib - machine.mem_mib / 16;
  return std::max(kLeastMemMib, most >= 2048 ? most / 1024 * 1024 : most);
}

ServerFacts as_it_is(const NodeFacts& machine) {
  ServerFacts server;
  server.name = machine.host;
  server.rack = "rack";
  server.gpu_type = "virtual";
  if (!machine.gpus_virtual && !machine.gpus.empty()) {
    server.gpu_type = machine.gpus.front().name;
    std::replace(server.gpu_type.begin(), server.gpu_type.end(), ' ', '-');
  }
  server.gpus = static_cast<std::int32_t>(machine.gpus.size());
  server.cpu_milli = std::int64_t{machine.cpus} * 1000;
  server.mem_mib = memory_for_jobs(machine);
  server.gpus_virtual = machine.gpus_virtual;
  if (machine.gpus_virtual) server.words.push_back("GPUs are virtual slots: " + machine.gpus_why);
  return server;
}

ServerFacts played(const ServeNode& node, const NodeFacts& machine, std::int64_t all_gpus) {
  ServerFacts server;
  server.name = node.name;
  server.rack = node.rack.empty() ? "rack" : node.rack;
  server.gpu_type = node.gpu_type;
  server.gpus = node.gpus;
  server.cpu_milli = node.cpu_milli > 0 ? node.cpu_milli
                                        : std::int64_t{machine.cpus} * 1000 * node.gpus / all_gpus;
  server.mem_mib =
      node.mem_mib > 0 ? node.mem_mib : memory_for_jobs(machine) * node.gpus / all_gpus;
  server.gpus_virtual = true;
  server.words.push_back("played by " + machine.host);
  return server;
}

}  // namespace

std::vector<ServerFacts> servers_of(const ServeFile& file, const NodeFacts& machine) {
  std::vector<ServerFacts> servers;
  std::int64_t gpus = 0;
  for (const ServeNode& node : file.nodes) gpus += node.gpus;
  for (const ServeNode& node : file.nodes) servers.push_back(played(node, machine, gpus));
  if (servers.empty()) servers.push_back(as_it_is(machine));
  for (ServerFacts& server : servers) {
    server.full_isolation = machine.full_isolation;
    if (machine.full_isolation) continue;
    server.words.push_back("CPU and memory are watched, not enforced by the kernel: " +
                           machine.isolation_why);
  }
  return servers;
}

Result<Site> find_site(const ServeFile& file, const std::string&) {
  Result<NodeFacts> found = find_node(file.virtual_gpus, file.cgroup);
  if (!found.ok()) return found.error();
  const NodeFacts& machine = found.value();
  Site site;
  site.servers = servers_of(file, machine);
  site.isolation = machine.full_isolation ? "full" : "reduced: " + machine.isolation_why;
  if (machine.full_isolation) site.cgroup_parent = file.cgroup;
  if (!machine.gpus_virtual) site.node_test = {"nvidia-smi", "-L"};
  return site;
}

Result<std::unique_ptr<Executor>> open_executor(const ServeFile&, const std::string& home,
                                                const std::string& shim, const std::string&) {
  LocalExecutor::Settings settings;
  settings.leases = home + "/leases";
  settings.shim = shim;
  Result<LocalExecutor> local = LocalExecutor::open(std::move(settings));
  if (!local.ok()) return local.error();
  return std::unique_ptr<Executor>(new Machine(std::move(local).value()));
}

}  // namespace muster
