#pragma once

// Interface to the processes of one part of a lease. The shim gives orders and takes events; it
// forks nothing and sends no signals itself. Orders return before they are carried out, so that a
// separate, more privileged process can implement the interface by messages. OwnProcesses starts
// the processes as children of the shim. For one thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "exec/cgroup/cgroup.h"
#include "exec/lease/report.h"
#include "exec/lease/spec.h"

namespace muster {

struct ProcessEvent {
  enum class Kind {
    kRan,          // A rank runs.
    kFailed,       // A rank could not be started. No later rank will be started.
    kEnded,        // A rank that ran has ended.
    kOutOfMemory,  // The job exceeded its memory limit. Comes before the kEnded that it causes.
    kOver,         // No process of the job is left. The last event.
  };
  Kind kind = Kind::kOver;
  RankEnd end;           // For kEnded. For kRan and kFailed, only the rank.
  int error_number = 0;  // For kFailed.
  // For kFailed: "cannot run 'trane.py': No such file or directory". For kEnded: a circumstance
  // that can explain a failure; may be empty.
  std::string words;
  std::int64_t used_bytes = 0;  // For kOutOfMemory; 0: the kernel has killed a process of the job.
};

struct ProcessUse {
  double cpu_s = 0;  // Since the start.
  std::int64_t mem_bytes = 0;
};

class JobProcesses {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;

  virtual ~JobProcesses() = default;

  // How the limits are enforced: the fields of StartedFacts.
  virtual std::string isolation() const = 0;
  virtual std::string isolation_why() const = 0;

  // Starts all ranks; each writes to its descriptor of `outputs`. Called once. The events are kRan
  // or kFailed for each rank until the first kFailed.
  virtual void start(std::span<const int> outputs) = 0;
  // Sends a signal to the process group of each rank that runs.
  virtual void signal(int number) = 0;
  // Kills all processes, and any that appear later, until none is left.
  virtual void kill() = 0;
  // Changes the limits. Fails without a change if the job uses more memory than the new limit.
  virtual MaybeError resize(Limits limits) = 0;

  // Returns the events since the last call, without blocking. Call it when fd() is readable or
  // deadline_us() (boot time) has passed.
  virtual std::vector<ProcessEvent> take(std::int64_t now_us) = 0;
  virtual int fd() const = 0;
  virtual std::int64_t deadline_us() const = 0;

  virtual ProcessUse use() const = 0;
  virtual void account(ExitReport& report) const = 0;  // Sets CPU, I/O and peak memory.
};

// Prepares the processes of a lease that can append to the file `progress`. No instruction of the
// job has run when it returns.
using MakeProcesses = std::function<Result<std::unique_ptr<JobProcesses>>(
    const LaunchSpec& spec, const std::string& progress)>;

}  // namespace muster
