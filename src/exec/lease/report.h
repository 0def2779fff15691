#pragma once

// Reports of a shim: started.json, before the first instruction of the job, and exit.json, when no
// process of the job is left. Both are written atomically (see files.h) and never change. The
// executor reads them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/clock_pair.h"
#include "base/types/result.h"

namespace muster {

struct StartedFacts {
  std::string token;
  int pid = 0;                     // Process id of the shim.
  std::int64_t process_start = 0;  // In ticks since boot; distinguishes it from a reused pid.
  std::string boot_id;
  ClockPair at;
  std::string isolation;      // "cgroup-v1", "cgroup-v2" or "reduced".
  std::string isolation_why;  // The reason for "reduced"; else empty.
  friend bool operator==(const StartedFacts&, const StartedFacts&) = default;
};

enum class EndCause {
  kFinished,  // Every rank ended with status 0.
  kFailed,    // A rank ended with another status or by a signal.
  kStopped,   // Stopped on request; `forced` if it exceeded the grace period.
  kKilled,    // Killed on request.
  kTimeLimit,
  kOutOfMemory,
  kCouldNotStart,  // See `words`. The job could not be executed.
};

std::string_view cause_name(EndCause cause);

struct RankEnd {
  int rank = 0;  // Global rank in the gang.
  int code = 0;  // Exit status; 0 if it ended by a signal.
  int signal = 0;
  friend bool operator==(const RankEnd&, const RankEnd&) = default;
};

struct ExitReport {
  std::string token;
  EndCause cause = EndCause::kFinished;
  bool forced = false;
  int error_number = 0;  // For kCouldNotStart.
  std::string words;     // One human-readable line; empty if finished.
  std::vector<RankEnd> ranks;
  ClockPair start;
  ClockPair end;
  double user_s = 0;
  double system_s = 0;
  std::int64_t mem_peak_mib = 0;
  std::int64_t read_bytes = 0;  // By system calls, including cached data.
  std::int64_t written_bytes = 0;
  std::int64_t disk_read_bytes = 0;
  std::int64_t disk_written_bytes = 0;
  std::int64_t log_lost_bytes = 0;  // Output that could not be written to the log.
  std::string log_trouble;          // The error of the first loss; else empty.
  friend bool operator==(const ExitReport&, const ExitReport&) = default;
};

inline constexpr std::size_t kMaxReportBytes = 256 << 10;

std::string started_json(const StartedFacts& facts);
Result<StartedFacts> read_started(std::string_view text);

std::string exit_json(const ExitReport& report);
Result<ExitReport> read_exit(std::string_view text);

}  // namespace muster
