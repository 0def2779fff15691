#include "live/config/site.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/os/files.h"
#include "base/types/check.h"
#include "exec/machine/machine.h"
#include "exec/slurm/slurm_executor.h"

namespace muster {

namespace {

using nlohmann::json;

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

constexpr const char* kServersFile = "servers.json";
constexpr std::size_t kMostServersBytes = 64 << 20;

// As they were when they were last known; none if that is not to be had.
std::vector<ServerFacts> remembered_servers(const std::string& home) {
  std::vector<ServerFacts> servers;
  const auto directory = open_directory(home);
  if (!directory.ok()) return servers;
  const auto text = read_file(directory.value().get(), kServersFile, kMostServersBytes);
  if (!text.ok()) return servers;
  try {
    for (const json& each : json::parse(text.value())) {
      ServerFacts server;
      server.name = each.at("name").get<std::string>();
      server.rack = each.at("rack").get<std::string>();
      server.gpu_type = each.at("gpu_type").get<std::string>();
      server.gpus = each.at("gpus").get<std::int32_t>();
      server.cpu_milli = each.at("cpu_milli").get<std::int64_t>();
      server.mem_mib = each.at("mem_mib").get<std::int64_t>();
      server.full_isolation = each.at("full_isolation").get<bool>();
      server.words = each.at("words").get<std::vector<std::string>>();
      servers.push_back(std::move(server));
    }
  } catch (const json::exception&) {
    servers.clear();
  }
  return servers;
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

// Whatever is wrong with the cluster now may be right later, so the manager starts all the same:
// with the servers it knew last, or with one that stands for those to come.
Result<Site> find_cluster(const ServeFile& file, const std::string& home) {
  Site site;
  site.elsewhere = true;
  site.as_submitter = may_run_as_others();
  site.isolation = "as Slurm has it";
  Result<std::vector<ServerFacts>> found = find_slurm_servers(slurm_settings(file));
  if (found.ok()) {
    site.servers = std::move(found).value();
    return site;
  }
  site.trouble = found.error().message;
  site.servers = remembered_servers(home);
  if (!site.servers.empty()) return site;
  ServerFacts any;
  any.name = "unknown";
  any.rack = "rack";
  any.gpu_type = "gpu";
  any.gpus = 64;
  any.cpu_milli = 1'000'000;
  any.mem_mib = std::int64_t{16} << 20;
  any.words.push_back("stands for the servers of Slurm until it tells of them");
  site.servers.push_back(std::move(any));
  return site;
}

Result<std::unique_ptr<Executor>> open_slurm(const ServeFile& file, const Site& site,
                                             const std::string& shim, const std::string& instance) {
  SlurmSettings settings = slurm_settings(file);
  settings.leases = site.files.directory();
  settings.shim = shim;
  settings.instance = instance;
  auto slurm = SlurmExecutor::open(std::move(settings), site.servers, site.trouble);
  if (!slurm.ok()) return slurm.error();
  return std::unique_ptr<Executor>(std::move(slurm).value());
}

Result<Site> find_this_machine(const ServeFile& file, const std::string& /*home*/) {
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

Result<std::unique_ptr<Executor>> open_local(const ServeFile& /*file*/, const Site& site,
                                             const std::string& shim,
                                             const std::string& /*instance*/) {
  LocalExecutor::Settings settings;
  settings.leases = site.files.directory();
  settings.shim = shim;
  Result<LocalExecutor> local = LocalExecutor::open(std::move(settings));
  if (!local.ok()) return local.error();
  return std::unique_ptr<Executor>(new Machine(std::move(local).value()));
}

constexpr ExecutorKind kExecutors[] = {
    {"local", "this machine, as one server or as several", find_this_machine, open_local},
    {"slurm", "the servers of a Slurm partition", find_cluster, open_slurm},
};

const ExecutorKind& kind_of(const ServeFile& file) {
  const auto* const found =
      std::find_if(std::begin(kExecutors), std::end(kExecutors),
                   [&](const ExecutorKind& kind) { return kind.name == file.executor; });
  MUSTER_CHECK(found != std::end(kExecutors));
  return *found;
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

Refusal remember_servers(const std::string& home, std::span<const ServerFacts> servers) {
  json out = json::array();
  for (const ServerFacts& server : servers) {
    out.push_back({{"name", server.name},
                   {"rack", server.rack},
                   {"gpu_type", server.gpu_type},
                   {"gpus", server.gpus},
                   {"cpu_milli", server.cpu_milli},
                   {"mem_mib", server.mem_mib},
                   {"full_isolation", server.full_isolation},
                   {"words", server.words}});
  }
  const auto directory = open_directory(home);
  if (!directory.ok()) return directory.error();
  return write_whole(directory.value(), kServersFile,
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
