#include "exec/machine/machine_facts.h"

#include <hwloc.h>
#include <unistd.h>

#include <cerrno>

#include "base/os/files.h"
#include "exec/cgroup/cgroup.h"

namespace muster {
namespace {

// Prefers the total of /proc/meminfo, unless part of the memory is reserved for others. hwloc can
// miss memory that a virtual machine got after its start.
std::int64_t memory_mib(hwloc_topology_t topology) {
  const auto by_node = static_cast<std::int64_t>(::hwloc_get_root_obj(topology)->total_memory);
  const bool all_ours = ::hwloc_bitmap_isequal(::hwloc_topology_get_complete_nodeset(topology),
                                               ::hwloc_topology_get_allowed_nodeset(topology)) == 1;
  const std::int64_t total = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  return (all_ours && total > 0 ? total : by_node) >> 20;
}

MaybeError find_topology(NodeFacts& facts) {
  hwloc_topology_t topology = nullptr;
  if (::hwloc_topology_init(&topology) != 0) return system_error("hwloc", errno);
  if (::hwloc_topology_load(topology) != 0) {
    const int error = errno;
    ::hwloc_topology_destroy(topology);
    return system_error("hwloc", error);
  }
  facts.cpus = ::hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  facts.cores = ::hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  facts.numa_nodes = ::hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
  facts.mem_mib = memory_mib(topology);
  ::hwloc_topology_destroy(topology);
  if (facts.cpus < 1 || facts.mem_mib < 1)
    return Error{"hwloc: found no CPU or no memory", ErrorCode::kSystem};
  return std::nullopt;
}

void find_or_invent_gpus(NodeFacts& facts, int virtual_gpus, const char* nvml) {
  auto gpus = find_gpus(nvml);
  if (gpus.ok() && !gpus.value().empty()) {
    facts.gpus = std::move(gpus).value();
    return;
  }
  facts.gpus_why = gpus.ok() ? "NVML lists no GPU" : gpus.error().message;
  facts.gpus_virtual = virtual_gpus > 0;
  for (int i = 0; i < virtual_gpus; ++i) facts.gpus.push_back({i, "virtual", "", 0});
}

}  // namespace

Result<NodeFacts> find_node(int virtual_gpus, const std::string& cgroup_parent, const char* nvml) {
  NodeFacts facts;
  char host[256] = "";
  if (::gethostname(host, sizeof host - 1) == 0) facts.host = host;
  if (auto refusal = find_topology(facts)) return *refusal;
  find_or_invent_gpus(facts, virtual_gpus, nvml);
  const auto refusal = try_cgroup(cgroup_parent, &facts.isolation_gaps);
  facts.full_isolation = !refusal;
  if (refusal) facts.isolation_why = refusal->message;
  return facts;
}

}  // namespace muster
