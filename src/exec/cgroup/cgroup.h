#pragma once

// The control group (cgroup) of one lease. It limits CPU, memory and the number of processes of the
// job, denies it the GPU devices of others, and can kill it reliably. Supports version 2, version
// 1, and both together (limits by 1; kill and device filter by 2). The shim creates it. If a shim
// was killed, the executor removes it. Parent and token identify it. After create() or find(), all
// methods work below descriptors of the group's directories.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"
#include "base/types/result.h"
#include "exec/cgroup/device_filter.h"

namespace muster {

struct Limits {
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
};

// Restrictions that not every kernel and account permits.
struct Restrictions {
  std::int64_t processes = 0;           // Maximum number of processes and threads; 0: no limit.
  std::optional<DeviceFilter> devices;  // Nullopt: it is unknown which devices to deny.
};

// Returns the process limit of a lease with `gpus` GPUs on this node.
constexpr std::int64_t max_processes(std::size_t gpus) {
  return 4096 + 4096 * static_cast<std::int64_t>(gpus);
}

// Mount points of the hierarchies; empty if not mounted.
struct CgroupMounts {
  std::string unified{}, v1_cpu{}, v1_memory{}, v1_pids{}, v1_devices{}, v1_freezer{};
};
CgroupMounts find_cgroup_mounts();

class ControlGroup {
 public:
  // Creates the group with both limits. On failure it removes everything it created.
  static Result<ControlGroup> create(const std::string& parent, std::string_view token,
                                     Limits limits,
                                     const CgroupMounts& mounts = find_cgroup_mounts());
  // Returns the existing directories of the group, possibly none.
  static ControlGroup find(const std::string& parent, std::string_view token,
                           const CgroupMounts& mounts = find_cgroup_mounts());

  // Applies the restrictions that are possible here. Returns a list of the missing restrictions
  // with the reasons; empty if all are enforced. Call it before doors().
  std::string restrict_to(const Restrictions& wanted);
  bool filters_devices() const { return filters_devices_; }  // After restrict_to().

  std::string_view kind() const;  // "cgroup-v1" or "cgroup-v2": the version of the limits.

  // Returns the cgroup.procs files. A process joins the group by writing "0" to each of them.
  Result<std::vector<Fd>> doors() const;

  // Fails without a change if the new memory limit is below the current usage.
  MaybeError resize(Limits limits);

  std::int64_t oom_kills() const;
  std::int64_t refused_forks() const;      // Forks that failed because of the process limit.
  std::int64_t memory_bytes() const;       // Current usage, including the page cache.
  std::int64_t memory_peak_bytes() const;  // 0 if the kernel does not report it.

  // Kills all current processes. Without cgroup.kill and freezer, new ones can appear.
  void kill_all() const;
  bool empty() const;
  // Returns true if the group no longer exists. Fails while it contains a process.
  bool remove() const;

 private:
  struct Place {  // A directory of the group in one hierarchy.
    std::string path;
    Fd parent, group;
    bool v2 = false;
  };

  ControlGroup(const std::string& parent, std::string_view token, CgroupMounts mounts);
  MaybeError make();
  MaybeError add(const std::string& mount, bool create, int& index);
  MaybeError limit_cpu(std::int64_t milli) const;
  MaybeError limit_memory(std::int64_t mib) const;
  MaybeError limit_processes(std::int64_t most);
  MaybeError filter_devices(const std::optional<DeviceFilter>& filter);
  const Place& at(int index) const { return places_[static_cast<std::size_t>(index)]; }
  bool kill_members() const;

  std::string parent_, name_;
  CgroupMounts mounts_;
  std::vector<Place> places_;
  bool kills_ = false;  // By cgroup.kill or the freezer.
  bool filters_devices_ = false;
  // Indices into places_; -1: not used. Several can be the same.
  int unified_ = -1, cpu_ = -1, memory_ = -1, pids_ = -1, devices_ = -1, freezer_ = -1;
};

// Returns nullopt if create() works below this parent, else its error. `gaps` gets the result of
// restrict_to() for a lease without GPUs.
MaybeError try_cgroup(const std::string& parent, std::string* gaps = nullptr);

}  // namespace muster
