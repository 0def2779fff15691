#pragma once

// What /proc says: who a process is, what a tree of processes uses, which processes carry a
// lease's token. Everything here may be stale when it returns, so signals are sent only to what a
// pidfd holds fast, or to a caller's own children.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/clock_pair.h"
#include "base/os/files.h"
#include "base/types/result.h"

namespace muster {

TwoClocks now_on_both_clocks();
std::int64_t boot_micros();  // CLOCK_BOOTTIME.

std::string boot_id();

// Start of the process in ticks since boot, or an error if there is none.
Result<std::int64_t> process_start(pid_t pid);

// A handle on exactly that process, or an error if it is gone or the pid is another's by now.
Result<Fd> open_process(pid_t pid, std::int64_t start);

// All children of the process, and theirs, zombies too. For oneself or one's own tree.
std::vector<pid_t> descendants(pid_t pid);

struct TreeUse {
  double cpu_s = 0;            // Of the live ones and of those they have waited for.
  std::int64_t rss_bytes = 0;  // Pages shared by two count twice.
};
TreeUse tree_use(const std::vector<pid_t>& pids);
// Pages shared by n count as 1/n each. Slow: reads every mapping.
std::int64_t tree_pss_bytes(const std::vector<pid_t>& pids);

struct IoUse {
  std::int64_t read = 0, written = 0, disk_read = 0, disk_written = 0;
};
// Of this process and of those it has waited for. The text it was read from is in the next one's
// `read`, so it is told here. (A zombie's own figures are root's alone to read.)
IoUse own_io_use(std::int64_t& text_bytes);

struct TokenKill {
  int killed = 0;
  // Processes of ours without a readable environment just now: in the middle of an exec, or of
  // their end; rarely one that hides it for good. Look again.
  int unsure = 0;
};
// SIGKILLs every process whose environment has MUSTER_LEASE=token. What began before `since`, in
// ticks as process_start() gives them, cannot be one, so it is never unsure.
TokenKill kill_by_token(std::string_view token, std::int64_t since = 0);

// Memory of the processes whose environment has MUSTER_LEASE=token, shared memory too, but not what
// is merely cached of the files they read.
std::int64_t own_bytes_by_token(std::string_view token);

}  // namespace muster
