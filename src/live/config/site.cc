#include "live/config/site.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/os/files.h"
#include "base/types/check.h"
#include "exec/machine/machine_executor.h"
#include "exec/slurm/slurm_executor.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::int64_t kMinMemMib = 256;

// Leaves 1/16 for the system and the manager. Rounds down to whole GiB, because the exact size
// differs between kernels.
std::int64_t memory_for_jobs(const NodeFacts& machine) {
  const std::int64_t most = machine.mem_mib - machine.mem_mib / 16;
  return std::max(kMinMemMib, most >= 2048 ? most / 1024 * 1024 : most);
}

NodeDescription as_it_is(const NodeFacts& machine) {
  NodeDescription described;
  described.name = machine.host;
  described.rack = "rack";
  described.gpu_type = "virtual";
  if (!machine.gpus_virtual && !machine.gpus.empty()) {
    described.gpu_type = machine.gpus.front().name;
    std::replace(described.gpu_type.begin(), described.gpu_type.end(), ' ', '-');
  }
  described.gpus = static_cast<std::int32_t>(machine.gpus.size());
  described.cpu_milli = std::int64_t{machine.cpus} * 1000;
  described.mem_mib = memory_for_jobs(machine);
  described.gpus_virtual = machine.gpus_virtual;
  if (machine.gpus_virtual)
    described.words.push_back("GPUs are virtual slots: " + machine.gpus_why);
  return described;
}

NodeDescription played(const ServeNode& node, const NodeFacts& machine, std::int64_t all_gpus) {
  NodeDescription described;
  described.name = node.name;
  described.rack = node.rack.empty() ? "rack" : node.rack;
  described.gpu_type = node.gpu_type;
  described.gpus = node.gpus;
  described.cpu_milli = node.cpu_milli > 0
                            ? node.cpu_milli
                            : std::int64_t{machine.cpus} * 1000 * node.gpus / all_gpus;
  described.mem_mib =
      node.mem_mib > 0 ? node.mem_mib : memory_for_jobs(machine) * node.gpus / all_gpus;
  described.gpus_virtual = true;
  described.words.push_back("simulated by " + machine.host);
  return described;
}

constexpr const char* kNodesFile = "servers.json";
constexpr std::size_t kMaxNodesBytes = 64 << 20;

// Returns the nodes saved by remember_servers(), or none if the file is missing or invalid.
std::vector<NodeDescription> remembered_nodes(const std::string& home) {
  std::vector<NodeDescription> nodes;
  const auto directory = open_directory(home);
  if (!directory.ok()) return nodes;
  const auto text = read_file(directory.value().get(), kNodesFile, kMaxNodesBytes);
  if (!text.ok()) return nodes;
  try {
    for (const json& each : json::parse(text.value())) {
      NodeDescription described;
      described.name = each.at("name").get<std::string>();
      described.rack = each.at("rack").get<std::string>();
      described.gpu_type = each.at("gpu_type").get<std::string>();
      described.gpus = each.at("gpus").get<std::int32_t>();
      described.cpu_milli = each.at("cpu_milli").get<std::int64_t>();
      described.mem_mib = each.at("mem_mib").get<std::int64_t>();
      described.full_isolation = each.at("full_isolation").get<bool>();
      described.words = each.at("words").get<std::vector<std::string>>();
      nodes.push_back(std::move(described));
    }
  } catch (const json::exception&) {
    nodes.clear();
  }
  return nodes;
}

SlurmSettings slurm_settings(const ServeFile& file) {
  const ServeSlurm& given = file.slurm;
  SlurmSettings settings;
  settings.partition = given.partition;
  settings.reservation = given.reservation;
  settings.account = given.account;
  settings.qos = given.qos;
  settings.racks = given.racks;
  settings.every = given.every;
  settings.timeout = given.timeout;
  settings.restart_after = given.restart_after;
  return settings;
}

// A fault of the cluster may be temporary, so the manager starts anyway: with the last known nodes,
// or with one placeholder node.
Result<Site> find_cluster(const ServeFile& file, const std::string& home) {
  Site site;
  site.elsewhere = true;
  site.as_submitter = may_run_as_others();
  site.isolation = "managed by Slurm";
  Result<std::vector<NodeDescription>> found = find_slurm_nodes(slurm_settings(file));
  if (found.ok()) {
    site.nodes = std::move(found).value();
    return site;
  }
  site.trouble = found.error().message;
  site.nodes = remembered_nodes(home);
  if (!site.nodes.empty()) return site;
  NodeDescription any;
  any.name = "unknown";
  any.rack = "rack";
  any.gpu_type = "gpu";
  any.gpus = 64;
  any.cpu_milli = 1'000'000;
  any.mem_mib = std::int64_t{16} << 20;
  any.words.push_back("placeholder until Slurm reports its nodes");
  site.nodes.push_back(std::move(any));
  return site;
}

Result<std::unique_ptr<Executor>> open_slurm(const ServeFile& file, const Site& site,
                                             const std::string& shim, const std::string& instance) {
  SlurmSettings settings = slurm_settings(file);
  settings.leases = site.files.directory();
  settings.shim = shim;
  settings.instance = instance;
  auto slurm = SlurmExecutor::open(std::move(settings), site.nodes, site.trouble);
  if (!slurm.ok()) return slurm.error();
  return std::unique_ptr<Executor>(std::move(slurm).value());
}

Result<Site> find_this_machine(const ServeFile& file, const std::string& /*home*/) {
  Result<NodeFacts> found = find_node(file.virtual_gpus, file.cgroup);
  if (!found.ok()) return found.error();
  const NodeFacts& machine = found.value();
  Site site;
  site.nodes = nodes_of(file, machine);
  site.isolation = machine.full_isolation ? "full" : "reduced: " + machine.isolation_why;
  if (machine.full_isolation) site.cgroup_parent = file.cgroup;
  site.gpus = machine.gpus_virtual || !file.nodes.empty() ? std::vector<GpuFacts>() : machine.gpus;
  if (!machine.gpus_virtual) site.node_test = {"nvidia-smi", "-L"};
  return site;
}

Result<std::unique_ptr<Executor>> open_local(const ServeFile& /*file*/, const Site& site,
                                             const std::string& shim,
                                             const std::string& /*instance*/) {
  LocalExecutor::Settings settings;
  settings.leases = site.files.directory();
  settings.shim = shim;
  Result<LocalExecutor> local = LocalExecutor::open(std::move(settings));
  if (!local.ok()) return local.error();
  std::vector<std::string> nodes;
  for (const NodeDescription& each : site.nodes) nodes.push_back(each.name);
  return std::unique_ptr<Executor>(
      new MachineExecutor(std::move(local).value(), std::move(nodes), {}));
}

constexpr ExecutorKind kExecutors[] = {
    {"local", "this machine, as one node or as several", find_this_machine, open_local},
    {"slurm", "the nodes of a Slurm partition", find_cluster, open_slurm},
};

const ExecutorKind& kind_of(const ServeFile& file) {
  const auto* const found =
      std::find_if(std::begin(kExecutors), std::end(kExecutors),
                   [&](const ExecutorKind& kind) { return kind.name == file.executor; });
  MUSTER_CHECK(found != std::end(kExecutors));
  return *found;
}

}  // namespace

std::vector<NodeDescription> nodes_of(const ServeFile& file, const NodeFacts& machine) {
  std::vector<NodeDescription> nodes;
  std::int64_t gpus = 0;
  for (const ServeNode& node : file.nodes) gpus += node.gpus;
  for (const ServeNode& node : file.nodes) nodes.push_back(played(node, machine, gpus));
  if (nodes.empty()) nodes.push_back(as_it_is(machine));
  for (NodeDescription& described : nodes) {
    described.full_isolation = machine.full_isolation;
    if (machine.full_isolation) {
      if (!machine.isolation_gaps.empty()) described.words.push_back(machine.isolation_gaps);
      continue;
    }
    described.words.push_back("CPU and memory limits are monitored, not enforced by the kernel: " +
                              machine.isolation_why);
  }
  return nodes;
}

MaybeError store_nodes(const std::string& home, std::span<const NodeDescription> nodes) {
  json out = json::array();
  for (const NodeDescription& described : nodes) {
    out.push_back({{"name", described.name},
                   {"rack", described.rack},
                   {"gpu_type", described.gpu_type},
                   {"gpus", described.gpus},
                   {"cpu_milli", described.cpu_milli},
                   {"mem_mib", described.mem_mib},
                   {"full_isolation", described.full_isolation},
                   {"words", described.words}});
  }
  const auto directory = open_directory(home);
  if (!directory.ok()) return directory.error();
  return write_whole(directory.value(), kNodesFile,
                     out.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

std::span<const ExecutorKind> executors() { return kExecutors; }

std::vector<std::string_view> executor_names() {
  std::vector<std::string_view> names;
  for (const ExecutorKind& kind : kExecutors) names.push_back(kind.name);
  return names;
}

Result<Site> find_site(const ServeFile& file, const std::string& home) {
  Result<Site> site = kind_of(file).find_site(file, home);
  if (site.ok()) site.value().files = LeaseFiles(home + "/leases");
  return site;
}

Result<std::unique_ptr<Executor>> open_executor(const ServeFile& file, const Site& site,
                                                const std::string& shim,
                                                const std::string& instance) {
  return kind_of(file).open(file, site, shim, instance);
}

}  // namespace muster
