#pragma once

// What happened on a cluster: jobs, their attempts, where each ran and how it ended. Readers make
// one from a log (philly_log.h), from a trace (trace_history.h; what a trace says of the past is
// little) or from the files of a simulation (run_history.h); src/analyze asks it questions. What a
// source does not tell is absent, never guessed: see Knows.

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
  kFailed,   // For good, after all its attempts.
  kUnknown,  // Still waiting or running when the source ends, or not told.
};

// GPUs of one server.
struct HostShare {
  std::uint32_t server = 0;  // In History::servers.
  std::uint64_t gpus = 0;    // Bit i: GPU i of the server; or as many low bits as it had, where the
                             // source tells only how many.
};

// One time that the job got its gang and ran. Times are never() where the source does not tell.
struct Attempt {
  Instant start = Instant::never();
  Instant end = Instant::never();
  Duration run;  // How long; told also by some sources that do not tell when. Zero: not known.
  std::uint32_t hosts = 0;  // In History::hosts: so many from there on.
  std::uint32_t host_count = 0;
  bool failed = false;
  bool resumed = false;  // Goes on with the one before it, which was stopped or moved, not failed.
  std::optional<Reason> reason;  // Why it failed, where it did and the source tells.
};

struct PastJob {
  std::uint32_t id = 0;  // In History::ids.
  Instant submit;
  Status status = Status::kUnknown;
  bool rejected = false;     // Could never run, and waited for nothing; its status is kUnknown.
  std::int32_t gpus = 0;     // 0: not known, as of a Philly job that never ran.
  std::uint32_t tenant = 0;  // In History::tenants; "" when not told. The same goes for these:
  std::uint32_t user = 0;
  std::uint32_t model = 0;
  std::uint32_t attempts = 0;  // In History::attempts: so many from there on, in order of time.
  std::uint32_t attempt_count = 0;
  std::int32_t failures = 0;  // Attempts that failed.
  Duration run;  // Time it held its GPUs, all attempts together, as far as told; zero: not known.
  std::int64_t gpu_us = 0;       // GPU time it held; zero: not told, other than by run and gpus.
  std::int64_t lost_gpu_us = 0;  // On work that was lost.
  float gpu_use = std::numeric_limits<float>::quiet_NaN();  // Mean, 0 to 1; NaN: not known.
};

struct Server {
  std::string name;
  std::int32_t gpus = 0;        // Seen, by the highest index; as listed where none was seen.
  std::int32_t listed = 0;      // As listed; 0: not listed.
  std::int32_t gpu_mem_gb = 0;  // As listed.
};

// What a source tells at all. A question that needs more is answered with what is missing.
struct Knows {
  bool dates = false;     // Times are UTC, since 1970; otherwise since the source's own beginning.
  bool runs = false;      // How long each job ran.
  bool starts = false;    // When attempts started and ended.
  bool attempts = false;  // Every attempt, not only one that stands for all.
  bool hosts = false;     // Which servers.
  bool slots = false;     // And exactly which GPUs of them, also those that several jobs share.
  bool status = false;
  bool failures = false;  // How many attempts of a job failed.
  bool reasons = false;   // Why attempts failed.
  bool tenants = false;
  bool users = false;
  bool use = false;    // Utilisation of GPUs.
  bool waits = false;  // Why each job waited: see History::waits.
  bool lost = false;   // GPU time lost to failures: see PastJob::lost_gpu_us.
};

struct History {
  std::string source;
  std::string format;
  Knows knows;
  std::vector<PastJob> jobs;  // Ascending by submit.
  std::vector<Attempt> attempts;
  std::vector<HostShare> hosts;
  std::vector<Server> servers;
  std::vector<WaitSplit> waits;  // One a job if the source knows, otherwise none.
  std::int64_t gpus = 0;         // Of the cluster, where the source tells; otherwise zero.
  NameTable ids, tenants, users, models;
  // Everything a reader left out or changed, one sentence with a count each. Never silent.
  std::vector<std::string> notes;

  std::span<const Attempt> attempts_of(const PastJob& job) const {
    return std::span(attempts).subspan(job.attempts, job.attempt_count);
  }
  std::span<const HostShare> hosts_of(const Attempt& attempt) const {
    return std::span(hosts).subspan(attempt.hosts, attempt.host_count);
  }
};

}  // namespace muster
