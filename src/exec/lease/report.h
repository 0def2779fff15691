#pragma once

// What a shim says of its lease: started.json before the job's first instruction, exit.json when
// nothing of the job is left. Written whole (see files.h), never changed, read by the executor.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/clock_pair.h"
#include "base/types/result.h"

namespace muster {

struct StartedFacts {
  std::string token;
  int pid = 0;                     // The shim's.
  std::int64_t process_start = 0;  // Of that process, in ticks since boot: tells a reused pid.
  std::string boot_id;
  TwoClocks at;
  std::string isolation;      // "cgroup-v1", "cgroup-v2" or "reduced".
  std::string isolation_why;  // Why reduced; else empty.
  friend bool operator==(const StartedFacts&, const StartedFacts&) = default;
};

enum class EndCause {
  kFinished,  // Every rank ended with status 0.
  kFailed,    // A rank ended otherwise, by itself.
  kStopped,   // Told to stop; `forced` if the grace was not enough.
  kKilled,    // Told to be killed.
  kTimeLimit,
  kOutOfMemory,
  kCouldNotStart,  // The words say why; no instruction of the job ran to an end.
};

std::string_view cause_name(EndCause cause);

struct RankEnd {
  int rank = 0;  // In the whole gang.
  int code = 0;  // Exit status, if no signal.
  int signal = 0;
  friend bool operator==(const RankEnd&, const RankEnd&) = default;
};

struct ExitReport {
  std::string token;
  EndCause cause = EndCause::kFinished;
  bool forced = false;
  int error_number = 0;  // Of kCouldNotStart.
  std::string words;     // One line for a person, empty if finished.
  std::vector<RankEnd> ranks;
  TwoClocks start;
  TwoClocks end;
  double user_s = 0;
  double system_s = 0;
  std::int64_t mem_peak_mib = 0;
  std::int64_t read_bytes = 0;  // By system calls, whatever served them.
  std::int64_t written_bytes = 0;
  std::int64_t disk_read_bytes = 0;
  std::int64_t disk_written_bytes = 0;
  std::int64_t log_lost_bytes = 0;  // Output that could not be written down.
  std::string log_trouble;          // Why, the first time; else empty.
  friend bool operator==(const ExitReport&, const ExitReport&) = default;
};

inline constexpr std::size_t kMostReportBytes = 256 << 10;

std::string started_json(const StartedFacts& facts);
Result<StartedFacts> read_started(std::string_view text);

std::string exit_json(const ExitReport& report);
Result<ExitReport> read_exit(std::string_view text);

}  // namespace muster
