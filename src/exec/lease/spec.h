#pragma once

// What a shim is told to run: one lease on one node. The executor writes it as spec.json into the
// lease's record directory, the shim reads it there; both check it, so that a file touched by
// somebody else is refused in one line rather than half obeyed.

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
  std::string token;  // Random, of this lease alone: 16 to 64 of [0-9a-z]. Marks its processes.

  std::string name;  // Of the job, for people.

  std::vector<std::string> argv;
  // Additions; of MUSTER_* only MUSTER_ARRAY_*, MUSTER_NODE and MUSTER_MANAGER.
  std::map<std::string, std::string> env;
  std::string cwd = "/";  // Absolute.

  RanksPer ranks_per = RanksPer::kNode;
  std::vector<int> gpus;  // Indices on this node.
  int node_rank = 0;      // This node among the lease's nodes.
  int first_rank = 0;     // Of this node's ranks in the whole gang.
  int world_size = 1;     // Ranks of the whole gang.
  std::string master_addr = "127.0.0.1";
  int master_port = 29500;

  std::int64_t cpu_milli = 1000;
  std::int64_t mem_mib = 1024;
  std::int64_t grace_ms = 30'000;
  std::int64_t time_limit_ms = 0;  // 0: none.
  // While nobody in charge of it can be reached: how long the lease is kept before its job may run
  // elsewhere, and how long before that its processes are to stop by themselves. 0: no end to it.
  std::int64_t keep_for_ms = 0;
  std::int64_t stop_after_ms = 0;
  std::int64_t log_cap_bytes = 16 << 20;  // Of one file.
  int log_files = 3;                      // Old ones kept beside out.log.
  // Who it runs for, and as whom where we may choose; empty: nobody in particular.
  std::string user;
  // The daemon is on another machine: it is heard by wish.json, see fence.h, and the GPUs are those
  // whoever launched the shim gave it, as many as `gpus` has.
  bool remote = false;
  std::string cgroup_parent;  // Below each hierarchy's root, as "/muster"; empty: no cgroup.

  friend bool operator==(const LaunchSpec&, const LaunchSpec&) = default;
};

// No spec file may be larger.
inline constexpr std::size_t kMostSpecBytes = 4 << 20;
inline constexpr std::int64_t kLeastCpuMilli = 10;
inline constexpr std::int64_t kMostCpuMilli = 1'000'000'000;
inline constexpr std::int64_t kMostMemMib = std::int64_t{1} << 36;
inline constexpr std::int64_t kMostMillis = std::int64_t{100} * 366 * 86'400'000;

// Ranks this shim runs.
int local_ranks(const LaunchSpec& spec);

// "j12.e3", and "j12.e3.n1" for the second node: the record directory's name.
std::string lease_name(const LaunchSpec& spec);
std::string lease_name(std::int64_t job, std::int64_t epoch, std::int64_t node_rank = 0);

// What is wrong with it, or nothing.
Refusal check_spec(const LaunchSpec& spec);

std::string spec_json(const LaunchSpec& spec);
Result<LaunchSpec> read_spec(std::string_view text);  // Checked.

}  // namespace muster
