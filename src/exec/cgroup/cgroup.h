#pragma once

// The control group of one lease: limits on CPU and memory that hold for everything the job
// starts, can be changed while it runs, and make killing sure. Version 2, version 1, or both side
// by side (limits from 1, killing from 2). The shim creates it, the executor cleans up after a
// shim that was killed; both find it by parent and token.

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

// Where the hierarchies that matter here are mounted; empty where there is none.
struct CgroupMounts {
  std::string unified, v1_cpu, v1_memory;
};
CgroupMounts find_cgroup_mounts();

class ControlGroup {
 public:
  // Both limits in force, or an error that says what stood in the way, and nothing left behind.
  static Result<ControlGroup> create(const std::string& parent, std::string_view token,
                                     Limits limits,
                                     const CgroupMounts& mounts = find_cgroup_mounts());
  // What there still is of it, maybe nothing.
  static ControlGroup find(const std::string& parent, std::string_view token);

  std::string_view kind() const { return cpu_.v2 && memory_.v2 ? "cgroup-v2" : "cgroup-v1"; }

  // A process that writes "0" to each of these is inside.
  Result<std::vector<Fd>> doors() const;

  // Memory below what the job holds is refused, and then nothing changes.
  Refusal resize(Limits limits);

  std::int64_t oom_kills() const;
  std::int64_t memory_bytes() const;       // Now; the job's cached files included.
  std::int64_t memory_peak_bytes() const;  // 0 if the kernel does not tell.

  void kill_all() const;
  bool empty() const;
  // True when nothing is left of it. Fails while a process is inside.
  bool remove() const;

 private:
  struct Place {
    std::string path;  // Empty: none.
    bool v2 = false;
  };

  ControlGroup() = default;
  static ControlGroup at(const std::string& parent, std::string_view token,
                         const CgroupMounts& mounts);
  Refusal make(const std::string& parent);
  Refusal limit_cpu(std::int64_t milli) const;
  Refusal limit_memory(std::int64_t mib) const;
  std::vector<std::string> paths() const;  // Each once.

  Place cpu_;
  Place memory_;
  std::string unified_;  // For killing; empty without version 2.
};

// Whether create() would work below that parent: why not, or nothing.
Refusal try_cgroup(const std::string& parent);

}  // namespace muster
