#pragma once

// What this machine has for jobs: CPUs and memory by hwloc, GPUs by NVML, and whether limits can
// be enforced by control groups. Found once, when the daemon starts.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/types/result.h"

namespace muster {

struct GpuFacts {
  int index = 0;
  std::string name;
  std::string uuid;  // Empty for a virtual one.
  std::int64_t mem_mib = 0;
};

struct NodeFacts {
  std::string host;
  int cpus = 0;  // Hardware threads we may use.
  int cores = 0;
  int numa_nodes = 0;
  std::int64_t mem_mib = 0;
  std::vector<GpuFacts> gpus;
  bool gpus_virtual = false;  // Slots as configured, with no device behind them.
  std::string gpus_why;       // Why they are virtual, or none.
  bool full_isolation = false;
  std::string isolation_why;  // Why not.
};

inline constexpr const char* kNvml = "libnvidia-ml.so.1";

// `virtual_gpus` slots where there is no real GPU. The control groups are tried for real, below
// the given parent; empty: not wanted.
Result<NodeFacts> find_node(int virtual_gpus, const std::string& cgroup_parent,
                            const char* nvml = kNvml);

// The GPUs NVML knows; loaded for this call alone.
Result<std::vector<GpuFacts>> find_gpus(const char* nvml);

// How busy they are, now and then. Keeps NVML open, since to begin with it takes long.
class GpuWatch {
 public:
  explicit GpuWatch(const char* nvml = kNvml);
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  // By index, 0 to 1; below zero: that one does not tell. Empty: there is none that could.
  std::vector<double> use() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace muster
