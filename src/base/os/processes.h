#pragma once

// Reads /proc: the identity of a process, the resource usage of a process tree, and the processes
// that have the mark of a lease. Results can be stale when a function returns. Signals are
// therefore sent only through a pidfd or to child processes of the caller.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/clock_pair.h"
#include "base/os/files.h"
#include "base/types/result.h"

namespace muster {

ClockPair now_on_both_clocks();
std::int64_t boot_micros();  // CLOCK_BOOTTIME, in microseconds.

std::string boot_id();  // The kernel's id of this boot; empty if it cannot be read.

// Returns the start time of a process in ticks since boot. Fails if the process does not exist.
Result<std::int64_t> process_start(pid_t pid);

// Returns a pidfd of the process with this pid and start time. Fails if that process has ended,
// even if another process has the pid now.
Result<Fd> open_process(pid_t pid, std::int64_t start);

// Returns all descendants of a process, including zombies. For the caller's own process tree.
std::vector<pid_t> descendants(pid_t pid);

// Kills all descendants of a process that is alive and adopts their orphans. Neither a new session
// nor another environment hides a process from it. Waits up to one second for them to end. Returns
// false if some have not ended by then. For a process of the same user.
bool kill_descendants(pid_t root);

struct TreeUse {
  double cpu_s = 0;            // Includes ended children that were waited for.
  std::int64_t rss_bytes = 0;  // Counts shared pages once per process.
};
TreeUse tree_use(const std::vector<pid_t>& pids);
// Returns the proportional set size: a page shared by n processes counts as 1/n for each. Slow,
// because the kernel reads every mapping.
std::int64_t tree_pss_bytes(const std::vector<pid_t>& pids);

// Bytes since the start of the process.
struct IoUse {
  std::int64_t read = 0, written = 0, disk_read = 0, disk_written = 0;
};
// Returns the I/O of this process and of the ended children it has waited for. Sets `text_bytes` to
// the bytes that this call read from /proc, which the `read` of the next call includes. (Only root
// can read the I/O of a zombie.)
IoUse own_io_use(std::int64_t& text_bytes);

struct MarkKill {
  int killed = 0;
  // Own processes whose environment is not readable at present, because they are in exec or about
  // to end. A few hide it permanently. The caller retries.
  int unsure = 0;
};
// Sends SIGKILL to every process whose environment has MUSTER_LEASE=mark, except those in `spared`.
// A process that started before `since` (in the ticks of process_start()) never counts as unsure.
MarkKill kill_by_mark(std::string_view mark, std::int64_t since = 0,
                      const std::vector<pid_t>& spared = {});

// Returns the memory in bytes of all processes whose environment has MUSTER_LEASE=mark. It
// includes shared memory but not the page cache.
std::int64_t own_bytes_by_mark(std::string_view mark);

}  // namespace muster
