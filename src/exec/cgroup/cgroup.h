#pragma once

// The control group (cgroup) of one lease. It limits CPU and memory of all processes of the job,
// and it can kill them reliably. Supports version 2, version 1, and both together (limits by 1,
// kill by 2). The shim creates it. If a shim was killed, the executor removes it. Parent and token
// identify it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"
#include "base/types/result.h"

namespace muster {

struct Limits {
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
};

// Mount points of the required hierarchies; empty if not mounted.
struct CgroupMounts {
  std::string unified, v1_cpu, v1_memory;
};
CgroupMounts find_cgroup_mounts();

class ControlGroup {
 public:
  // Creates the group with both limits. On failure it removes everything it created.
  static Result<ControlGroup> create(const std::string& parent, std::string_view token,
                                     Limits limits,
                                     const CgroupMounts& mounts = find_cgroup_mounts());
  // Returns the existing directories of the group, possibly none.
  static ControlGroup find(const std::string& parent, std::string_view token);

  std::string_view kind() const { return cpu_.v2 && memory_.v2 ? "cgroup-v2" : "cgroup-v1"; }

  // Returns the cgroup.procs files. A process joins the group by writing "0" to each of them.
  Result<std::vector<Fd>> doors() const;

  // Fails without a change if the new memory limit is below the current usage.
  MaybeError resize(Limits limits);

  std::int64_t oom_kills() const;
  std::int64_t memory_bytes() const;       // Current usage, including the page cache.
  std::int64_t memory_peak_bytes() const;  // 0 if the kernel does not report it.

  void kill_all() const;
  bool empty() const;
  // Returns true if the group no longer exists. Fails while it contains a process.
  bool remove() const;

 private:
  struct Place {
    std::string path;  // Empty if none.
    bool v2 = false;
  };

  ControlGroup() = default;
  static ControlGroup at(const std::string& parent, std::string_view token,
                         const CgroupMounts& mounts);
  MaybeError make(const std::string& parent);
  MaybeError limit_cpu(std::int64_t milli) const;
  MaybeError limit_memory(std::int64_t mib) const;
  std::vector<std::string> paths() const;  // Without duplicates.

  Place cpu_;
  Place memory_;
  std::string unified_;  // For kill_all(); empty without version 2.
};

// Returns nullopt if create() works below this parent, else its error.
MaybeError try_cgroup(const std::string& parent);

}  // namespace muster
