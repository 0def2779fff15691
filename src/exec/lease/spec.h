#pragma once

// The launch specification of one part of a lease. The executor writes it to spec.json in the
// record directory, and the shim reads it. Both validate it, so a modified file is rejected as a
// whole.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

enum class RanksPer { kNode, kGpu };

struct LaunchSpec {
  std::int64_t job = 0;
  std::int64_t epoch = 0;
  // Secret proof that a report belongs to this lease: 16 to 64 of [0-9a-z], unique. The job does
  // not get it.
  std::string token;
  // Public label of the lease, in the format of the token: the variable MUSTER_LEASE of each
  // process and the name of the control group. Empty in records of earlier versions: see mark_of().
  std::string mark;

  std::string name;  // Name of the job, for display.

  std::vector<std::string> argv;
  // Additional variables. MUSTER_ARRAY_*, MUSTER_NODE and MUSTER_MANAGER are the only permitted
  // MUSTER_* names.
  std::map<std::string, std::string> env;
  std::string cwd = "/";  // Absolute path.

  RanksPer ranks_per = RanksPer::kNode;
  std::vector<int> gpus;  // Indices on this node.
  // Whether the GPU devices of this node are known. The shim then denies all except `gpu_nodes`.
  bool gpu_filter = false;
  std::vector<std::string> gpu_nodes;  // Device nodes of `gpus`, such as "/dev/nvidia0".
  std::vector<std::string> gpu_uuids;  // One per entry of `gpus`; empty if unknown.
  int node_rank = 0;                   // Index of this node among the nodes of the lease.
  int first_rank = 0;                  // Global rank of the first rank on this node.
  int world_size = 1;                  // Number of ranks of the gang.
  std::string master_addr = "127.0.0.1";
  int master_port = 29500;

  std::int64_t cpu_milli = 1000;
  std::int64_t mem_mib = 1024;
  std::int64_t grace_ms = 30'000;
  std::int64_t time_limit_ms = 0;  // 0: no limit.
  // If daemon and shim cannot reach each other: the time until the job can run elsewhere, and the
  // time until the shim ends its processes, which is earlier. 0: not set; the shim then never ends
  // them by itself.
  std::int64_t keep_for_ms = 0;
  std::int64_t stop_after_ms = 0;
  std::int64_t log_cap_bytes = 16 << 20;  // Maximum size of one log file.
  int log_files = 3;                      // Rotated files in addition to out.log.
  // The user of the job. It runs as this user if the manager can choose. Empty: no specific user.
  std::string user;
  // The daemon is on another machine and sends orders through wish.json (see lease_fence.h). The
  // launcher of the shim chooses the GPUs, as many as `gpus` has.
  bool remote = false;
  std::string cgroup_parent;  // Relative to each root, such as "/muster"; empty: no cgroup.

  friend bool operator==(const LaunchSpec&, const LaunchSpec&) = default;
};

// Limits that check_spec() and read_spec() enforce.
inline constexpr std::size_t kMaxSpecBytes = 4 << 20;
inline constexpr std::int64_t kMinCpuMilli = 10;
inline constexpr std::int64_t kMaxCpuMilli = 1'000'000'000;
inline constexpr std::int64_t kMaxMemMib = std::int64_t{1} << 36;
inline constexpr std::int64_t kMaxMillis = std::int64_t{100} * 366 * 86'400'000;

// Returns the label of the processes of a lease. Earlier versions used the token.
const std::string& mark_of(const LaunchSpec& spec);

// Returns the number of ranks on this node.
int local_ranks(const LaunchSpec& spec);

// Returns the name of the record directory: "j12.e3", or "j12.e3.n1" for the second node.
std::string lease_name(const LaunchSpec& spec);
std::string lease_name(std::int64_t job, std::int64_t epoch, std::int64_t node_rank = 0);

// Returns the first error of the spec, or nullopt.
MaybeError check_spec(const LaunchSpec& spec);

std::string spec_json(const LaunchSpec& spec);
Result<LaunchSpec> read_spec(std::string_view text);  // Includes check_spec().

}  // namespace muster
