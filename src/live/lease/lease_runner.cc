#include "live/lease/lease_runner.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace muster {

namespace {

constexpr std::size_t kMaxWords = 2'000;

std::string reason_of(const ExitReport& report) {
  if (report.cause == EndCause::kOutOfMemory) return "cpu-out-of-memory";
  if (report.cause == EndCause::kCouldNotStart) {
    if (report.error_number == EACCES || report.error_number == EPERM) return "permission-error";
    return report.error_number == ENOENT ? "incorrect-inputs" : "no-signature";
  }
  for (const RankEnd& rank : report.ranks) {
    if (rank.signal == SIGSEGV || rank.signal == SIGBUS) return "invalid-memory-access";
    if (rank.signal == SIGABRT || rank.signal == SIGILL || rank.signal == SIGFPE) {
      return "core-dump";
    }
    if (rank.code == 126) return "permission-error";
    if (rank.code == 127) return "incorrect-inputs";
  }
  return "no-signature";
}

// Returns true if `fate` explains the end of a lease better than `other`, the fate on another node.
// kLost ranks last in kOrder: a lost part may be the cause of the other failures.
bool says_more(LeaseResult fate, LeaseResult other) {
  constexpr std::array kOrder = {LeaseResult::kFinished, LeaseResult::kStopped,
                                 LeaseResult::kTimeLimit, LeaseResult::kFailed, LeaseResult::kLost};
  return std::find(kOrder.begin(), kOrder.end(), fate) >
         std::find(kOrder.begin(), kOrder.end(), other);
}

}  // namespace

LeaseOverInput over_of(const ExitReport& report) {
  LeaseOverInput over;
  over.words = report.words.substr(0, kMaxWords);
  over.ran_ms = std::max<std::int64_t>(0, report.end.boot_us / 1000 - report.start.boot_us / 1000);
  over.cpu_ms = static_cast<std::int64_t>((report.user_s + report.system_s) * 1000);
  over.mem_peak_mib = report.mem_peak_mib;
  switch (report.cause) {
    case EndCause::kFinished:
      over.fate = LeaseResult::kFinished;
      break;
    case EndCause::kStopped:
    case EndCause::kKilled:
      over.fate = LeaseResult::kStopped;
      break;
    case EndCause::kTimeLimit:
      over.fate = LeaseResult::kTimeLimit;
      break;
    case EndCause::kCouldNotStart:
      if (report.error_number == 0) {  // The shim failed before it started the job.
        over.fate = LeaseResult::kLost;
        break;
      }
      [[fallthrough]];
    case EndCause::kFailed:
    case EndCause::kOutOfMemory:
      over.fate = LeaseResult::kFailed;
      over.reason = reason_of(report);
      break;
  }
  return over;
}

LeaseOverInput merge_ends(std::span<const LeaseOverInput> parts) {
  LeaseOverInput whole = parts.front();
  for (const LeaseOverInput& part : parts.subspan(1)) {
    const std::int64_t ran_ms = std::max(whole.ran_ms, part.ran_ms);
    const std::int64_t cpu_ms = whole.cpu_ms + part.cpu_ms;
    const std::int64_t peak = std::max(whole.mem_peak_mib, part.mem_peak_mib);
    if (says_more(part.fate, whole.fate)) whole = part;
    whole.ran_ms = ran_ms;
    whole.cpu_ms = cpu_ms;
    whole.mem_peak_mib = peak;
  }
  return whole;
}

}  // namespace muster
