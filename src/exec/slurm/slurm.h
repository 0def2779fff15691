#pragma once

// Arguments of Slurm's commands and parsers of their output. Pure functions; command_runner.h runs
// the commands. Tested with Slurm 22.05; docs/how-to/slurm.md lists the supported versions.
//
// Names, comments and reasons are free text of other users and can contain newlines and forged
// rows. squeue_argv() and sinfo_argv() therefore use a new random separator each time
// (marked_table.h). Unreadable rows are skipped. Output that is not a table is an error.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

using SlurmId = std::int64_t;

// A row of squeue.
struct SlurmJob {
  SlurmId id = 0;
  std::string state;   // "PENDING", "RUNNING", "COMPLETING", "NODE_FAIL"...
  std::string reason;  // Why it is pending: "JobHeldUser", "Resources"...
  std::string user;
  std::string partition;
  std::vector<std::string> nodes;  // Expanded; empty while pending.
  std::string name;
  std::string comment;     // Empty if none.
  SlurmId array = 0;       // For a task of an array: the id of the array.
  std::string array_task;  // "7"; a row of several pending tasks has "3-40%8".

  bool pending() const { return state == "PENDING"; }
  bool held() const;  // By its owner or an administrator (JobHeld...).
  bool over() const;  // Finished: Slurm has no process of it. COMPLETING is not finished.
};
// All states, all users. An empty partition means all partitions, also in sinfo_argv().
std::vector<std::string> squeue_argv(const std::string& partition);
Result<std::vector<SlurmJob>> read_squeue(std::string_view text);

// A node of sinfo.
struct SlurmNode {
  std::string name;
  std::string address;
  std::string state;   // "idle", "mixed", "down*", "drained", "maint"...; lowercase, with flags.
  std::string flags;   // The complete state, "mixed+reserved"; empty if unknown.
  std::string reason;  // Why it is down or drained; empty if none.
  std::int64_t cpus = 0, cpus_used = 0;
  std::int64_t mem_mib = 0, mem_mib_used = 0;
  std::int32_t gpus = 0, gpus_used = 0;  // Total of all types.
  std::string gpu_type;  // "a100" for gpu:a100:8; empty if untyped or several types.

  // Whether its state permits new jobs. A reserved node is usable only with `in_reservation`.
  bool usable(bool in_reservation = false) const;
  bool reserved() const;        // In an active reservation or maintenance.
  bool responding() const;      // The state has no '*'.
  std::string why_not() const;  // Why it is not usable: "down: Not responding".
};
std::vector<std::string> sinfo_argv(const std::string& partition);
// Returns the nodes sorted by name, without duplicates.
Result<std::vector<SlurmNode>> read_sinfo(std::string_view text);

// Pairs of node and leaf switch, from `scontrol show topology`. Nodes without a switch are omitted.
// Empty for a cluster without topology.
std::vector<std::string> topology_argv();
std::vector<std::pair<std::string, std::string>> read_topology(std::string_view text);

// Expands "n[1-3,07],gpu-a" to names. Fails for more than `most` names.
Result<std::vector<std::string>> expand_hosts(std::string_view list, std::size_t most = 100'000);

struct SlurmSubmit {
  std::string name;
  std::string comment;
  std::string partition;
  std::string reservation;  // Optional, like account and qos.
  std::string account;
  std::string qos;
  std::string user;                // Run as this user (root only); empty: current user.
  std::string group;               // Empty: the user's group. (Slurm's default is ours.)
  std::vector<std::string> nodes;  // Exactly these, one task each; empty: any.
  std::int64_t cpus = 1;           // Per node, like mem_mib and gpus.
  std::int64_t mem_mib = 0;        // 0: omitted.
  std::int32_t gpus = 0;
  Duration time;       // Zero: omitted.
  std::string output;  // File; empty: /dev/null.
  std::string cwd = "/";
  std::string array;  // Such as "0-47%8"; empty: not an array.
  bool hold = false;
};
// Arguments of sbatch, which reads the script from its standard input. Slurm does not requeue the
// job. The job gets no environment, not even PATH, and no login shell, so the script must set what
// it needs. srun passes the environment of the script on. Values are never parsed as options, and
// control characters become spaces.
std::vector<std::string> submit_argv(const SlurmSubmit& job);
Result<SlurmId> read_submitted(std::string_view text);  // Parses "123" or "123;cluster".

// A missing job does not prevent the operation on the others, but release then ends with status 1.
std::vector<std::string> release_argv(const std::vector<SlurmId>& jobs);
std::vector<std::string> cancel_argv(const std::vector<SlurmId>& jobs);

// "Key = value" lines of `scontrol show config` and "Key=value" words of `scontrol show partition
// -o`. An empty partition queries all, and read_partition() returns the default one; empty if there
// is none.
std::vector<std::string> config_argv();
std::vector<std::string> partition_argv(const std::string& partition);
std::vector<std::string> reservation_argv(const std::string& reservation);
using SlurmWords = std::vector<std::pair<std::string, std::string>>;
SlurmWords read_config(std::string_view text);
SlurmWords read_partition(std::string_view text);
SlurmWords read_reservation(std::string_view text);
std::string_view word_of(const SlurmWords& words, std::string_view key);  // Empty if missing.

}  // namespace muster
