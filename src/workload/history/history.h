#pragma once

// The history of a cluster: jobs, their attempts, the nodes of each attempt and its outcome.
// Readers create it from a log (philly_log.h), a trace (trace_history.h) or the files of a
// simulation (run_history.h). src/study/analyze evaluates it. Data that a source does not contain
// is absent, never guessed: see Knows.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/core/waiting.h"
#include "engine/failure/reasons.h"
#include "workload/trace/trace.h"

namespace muster {

enum class Status : std::uint8_t {
  kPassed,
  kKilled,   // By its user.
  kFailed,   // Final, after all its attempts.
  kUnknown,  // Still waiting or running at the end of the source, or unknown.
};

// GPUs of one node.
struct HostShare {
  std::uint32_t node = 0;  // Index in History::servers.
  std::uint64_t gpus = 0;  // Bit i: GPU i of the node. If the source has only a number of GPUs:
                           // this many low bits.
};

// One period in which the job ran on its gang. Unknown times are never().
struct Attempt {
  Instant start = Instant::never();
  Instant end = Instant::never();
  Duration run;             // Run time; may be known without start and end. Zero: unknown.
  std::uint32_t hosts = 0;  // First index in History::hosts; there are host_count entries.
  std::uint32_t host_count = 0;
  bool failed = false;
  bool resumed = false;          // The previous attempt was stopped or moved, and did not fail.
  std::optional<Reason> reason;  // Reason of the failure, if it failed and the reason is known.
};

struct PastJob {
  std::uint32_t id = 0;  // Index in History::ids.
  Instant submit;
  Status status = Status::kUnknown;
  bool rejected = false;     // Could never run, so it did not wait; its status is kUnknown.
  std::int32_t gpus = 0;     // 0: unknown, for example for a Philly job that never ran.
  std::uint32_t tenant = 0;  // Index in History::tenants; 0 (""): unknown.
  std::uint32_t user = 0;    // Index in History::users; 0 (""): unknown.
  std::uint32_t name = 0;    // Index in History::names: the experiment of the job; 0 (""): unknown.
  std::uint32_t model = 0;   // Index in History::models; 0 (""): unknown.
  std::uint32_t attempts = 0;  // First index in History::attempts; they are in order of time.
  std::uint32_t attempt_count = 0;
  std::int32_t failures = 0;     // Number of failed attempts.
  Duration run;                  // Total time that all attempts held the GPUs; zero: unknown.
  std::int64_t gpu_us = 0;       // GPU time in microseconds; zero: known only as run and gpus.
  std::int64_t lost_gpu_us = 0;  // GPU time of lost work, in microseconds.
  float gpu_use = std::numeric_limits<float>::quiet_NaN();  // Mean, 0 to 1; NaN: unknown.
};

// A node of the cluster.
struct HistoryNode {
  std::string name;
  std::int32_t gpus = 0;        // Highest GPU index in use + 1; `listed` if no GPU was in use.
  std::int32_t listed = 0;      // Number of GPUs in the machine list; 0: not listed.
  std::int32_t gpu_mem_gb = 0;  // Memory per GPU in the machine list, in GB.
};

// Which data a source contains. A study that needs other data reports what is missing.
struct Knows {
  bool dates = false;     // Times are UTC since 1970; if false, since the start of the source.
  bool runs = false;      // Run time of each job.
  bool starts = false;    // Start and end of attempts.
  bool attempts = false;  // All attempts, not only one that represents them.
  bool hosts = false;     // The nodes of attempts.
  bool slots = false;     // The exact GPUs of attempts, also GPUs that several jobs share.
  bool status = false;
  bool failures = false;  // Number of failed attempts per job.
  bool reasons = false;   // Reasons of failed attempts.
  bool tenants = false;
  bool users = false;
  bool use = false;    // GPU utilization.
  bool waits = false;  // Wait causes of each job: see History::waits.
  bool lost = false;   // GPU time lost to failures: see PastJob::lost_gpu_us.
};

struct History {
  std::string source;
  std::string format;
  Knows knows;
  std::vector<PastJob> jobs;  // Ascending by submit.
  std::vector<Attempt> attempts;
  std::vector<HostShare> hosts;
  std::vector<HistoryNode> nodes;
  std::vector<WaitSplit> waits;  // One per job if Knows::waits; otherwise empty.
  std::int64_t gpus = 0;         // Number of GPUs of the cluster; 0: unknown.
  NameTable ids, tenants, users, names, models;
  // One sentence with a count for each kind of skipped record or changed value.
  std::vector<std::string> notes;

  std::span<const Attempt> attempts_of(const PastJob& job) const {
    return std::span(attempts).subspan(job.attempts, job.attempt_count);
  }
  std::span<const HostShare> hosts_of(const Attempt& attempt) const {
    return std::span(hosts).subspan(attempt.hosts, attempt.host_count);
  }
};

}  // namespace muster
