#pragma once

// What is said to Slurm's commands and what they answer, as values: argv of each command with
// explicit formats, and readers of their output. Whoever runs them is elsewhere (commands.h).
// Measured with Slurm 22.05; docs/slurm.md says which versions are known to work.
//
// Names, comments and reasons are free text of strangers and may hold newlines and forged rows, so
// squeue_argv() and sinfo_argv() put a random separator between the fields, another one each time;
// the readers find it in the first row. An unreadable row is skipped; what is no table is an error.

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

// A job as squeue shows it.
struct SlurmJob {
  SlurmId id = 0;
  std::string state;   // "PENDING", "RUNNING", "COMPLETING", "NODE_FAIL"...
  std::string reason;  // Why it is pending: "JobHeldUser", "Resources"...
  std::string user;
  std::string partition;
  std::vector<std::string> nodes;  // Expanded; empty while it is pending.
  std::string name;
  std::string comment;     // Empty if none.
  SlurmId array = 0;       // Of a task of an array: the array's id, which all its tasks have.
  std::string array_task;  // "7"; of those that are pending, together: "3-40%8".

  bool pending() const { return state == "PENDING"; }
  bool held() const;  // By its owner or an administrator (reason JobHeld...).
  bool over()
      const;  // Nothing of it is left on its nodes, as far as Slurm knows. COMPLETING is not.
};
// All states, all users; an empty partition: of all partitions. Also of sinfo_argv().
std::vector<std::string> squeue_argv(const std::string& partition);
Result<std::vector<SlurmJob>> read_squeue(std::string_view text);

// A server as sinfo shows it.
struct SlurmNode {
  std::string name;
  std::string address;
  std::string state;   // "idle", "mixed", "down*", "drained", "maint"...: lower case, flags kept.
  std::string flags;   // The same in full, "mixed+reserved"; empty if not known.
  std::string reason;  // Of down or drained; empty if none.
  std::int64_t cpus = 0, cpus_used = 0;
  std::int64_t mem_mib = 0, mem_mib_used = 0;
  std::int32_t gpus = 0, gpus_used = 0;  // Of all types together.
  std::string gpu_type;  // "a100" of gpu:a100:8; empty: untyped, or of several types.

  // Takes new jobs, as far as its state says; reserved ones only those within the reservation.
  bool usable(bool in_reservation = false) const;
  bool reserved() const;        // Part of a reservation that is in force, maintenance too.
  bool responding() const;      // No '*'.
  std::string why_not() const;  // For people, of one that is not usable: "down: Not responding".
};
std::vector<std::string> sinfo_argv(const std::string& partition);
Result<std::vector<SlurmNode>> read_sinfo(std::string_view text);  // Each node once, by name.

// Leaf switches by node, from `scontrol show topology`; nodes that none names are left out. A
// cluster without topology answers nothing.
std::vector<std::string> topology_argv();
std::vector<std::pair<std::string, std::string>> read_topology(std::string_view text);

// "n[1-3,07],gpu-a" to its names, or an error; at most `most`.
Result<std::vector<std::string>> expand_hosts(std::string_view list, std::size_t most = 100'000);

struct SlurmSubmit {
  std::string name;
  std::string comment;
  std::string partition;
  std::string reservation;  // This and the next two: empty, not said.
  std::string account;
  std::string qos;
  std::string user;                // Run as this user, which only root may ask; empty: as we are.
  std::string group;               // Empty: the user's own. (Slurm itself would take ours: root.)
  std::vector<std::string> nodes;  // Exactly these, one task each; empty: as Slurm likes.
  std::int64_t cpus = 1;           // Of each node, as the next two.
  std::int64_t mem_mib = 0;        // 0: not said.
  std::int32_t gpus = 0;
  Duration time;       // Zero: not said.
  std::string output;  // A file; empty: /dev/null.
  std::string cwd = "/";
  std::string array;  // "0-47%8"; empty: no array.
  bool hold = false;
};
// The script is the command's input. No requeue by Slurm, and nothing of our environment for the
// job: not even PATH, and no login shell either, so the script sets what it needs; srun in it hands
// the script's environment on. No value becomes an option, and control characters become spaces.
std::vector<std::string> submit_argv(const SlurmSubmit& job);
Result<SlurmId> read_submitted(std::string_view text);  // "123" or "123;cluster".

// Of several, one that is gone does not keep the others from it, but release then ends with 1.
std::vector<std::string> release_argv(const std::vector<SlurmId>& jobs);
std::vector<std::string> cancel_argv(const std::vector<SlurmId>& jobs);

// "Key = value" lines of `scontrol show config`, "Key=value" words of `scontrol show partition -o`.
// With an empty partition all are asked for, and read_partition() takes the default one of them;
// nothing if there is none.
std::vector<std::string> config_argv();
std::vector<std::string> partition_argv(const std::string& partition);
std::vector<std::string> reservation_argv(const std::string& reservation);
using SlurmWords = std::vector<std::pair<std::string, std::string>>;
SlurmWords read_config(std::string_view text);
SlurmWords read_partition(std::string_view text);
SlurmWords read_reservation(std::string_view text);
std::string_view word_of(const SlurmWords& words, std::string_view key);  // Empty if not there.

}  // namespace muster
