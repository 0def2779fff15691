#pragma once

// Detects the resources of this machine: CPUs and memory with hwloc, GPUs with NVML, and whether
// control groups can enforce limits. Called once, when the daemon starts.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/types/result.h"

namespace muster {

struct GpuFacts {
  int index = 0;
  std::string name;
  std::string uuid;  // Empty for a virtual GPU.
  std::int64_t mem_mib = 0;
  std::vector<std::string> nodes{};  // Device nodes, such as "/dev/nvidia0"; empty if unknown.
};

struct NodeFacts {
  std::string host;
  int cpus = 0;  // Hardware threads that this process can use.
  int cores = 0;
  int numa_nodes = 0;
  std::int64_t mem_mib = 0;
  std::vector<GpuFacts> gpus;
  bool gpus_virtual = false;  // Configured slots without a device.
  std::string gpus_why;       // Why the GPUs are virtual, or why there are none.
  bool full_isolation = false;
  std::string isolation_why;   // Why not, if full_isolation is false.
  std::string isolation_gaps;  // Restrictions that are not possible here: see restrict_to().
};

inline constexpr const char* kNvml = "libnvidia-ml.so.1";

// Detects all facts. `virtual_gpus`: the number of slots if there is no real GPU. Creates a test
// control group below `cgroup_parent`; empty means no control groups.
Result<NodeFacts> find_node(int virtual_gpus, const std::string& cgroup_parent,
                            const char* nvml = kNvml);

// Returns the GPUs that NVML lists. Loads NVML only for this call.
Result<std::vector<GpuFacts>> find_gpus(const char* nvml);

// Samples GPU utilization. Keeps NVML open, because loading it is slow.
class GpuWatch {
 public:
  explicit GpuWatch(const char* nvml = kNvml);
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  // Returns the utilization by GPU index, 0 to 1; negative if a GPU does not report it. Empty
  // if NVML is not usable.
  std::vector<double> use() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace muster
