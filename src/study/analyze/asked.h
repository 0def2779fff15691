#pragma once

// What the questions of the study have in common: the jobs that count, when each first started, who
// held GPUs when, and who the largest tenants are. Made once from a History, then only read.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/time.h"
#include "sim/results/waiting.h"
#include "study/analyze/study.h"
#include "workload/history/history.h"

namespace muster {

inline constexpr std::size_t kSizes = kWaitSizes.size();

// A job that asked for GPUs.
struct StudyJob {
  std::uint32_t index = 0;           // In History::jobs.
  std::size_t size = 0;              // In kWaitSizes.
  Instant start = Instant::never();  // Of the first attempt, not before submission; or not known.
  Duration wait;                     // Until then; only of those that started.
  std::int64_t gpu_us = 0;           // Run time times GPUs; 0: not known.

  bool started() const { return start != Instant::never(); }
};

// GPUs that one attempt had.
struct Hold {
  Instant begin;
  Instant end;
  std::uint32_t job = 0;  // In History::jobs.
  std::int64_t gpus = 0;
  std::uint32_t attempt = 0;  // In History::attempts.
};

// A number that changes with time: so much from `at` until the next.
struct Step {
  Instant at;
  std::int64_t level = 0;
};

// From changes, in any order, to levels, ascending in time and one an instant. Zero before.
std::vector<Step> steps_of(std::vector<Step> changes);
std::int64_t peak_of(const std::vector<Step>& steps);

// The largest ten tenants by GPU time, and all others together; users where there are no tenants.
struct Parties {
  std::string_view noun;           // "tenant" or "user"; empty if neither is known.
  std::vector<std::string> names;  // Largest first, "others" last if there are more.
  std::vector<std::uint32_t> ids;  // In the History's table; as many, without "others".
  std::vector<std::uint32_t> of;   // By id in the table: in names.

  bool known() const { return !noun.empty(); }
};
inline constexpr std::size_t kMostParties = 10;

struct Asked {
  const History& history;
  const UseStudy* use;
  const StudyOptions& options;

  std::vector<StudyJob> jobs;  // As in the History, without those of 0 GPUs.
  std::int64_t without_gpus = 0;
  std::int64_t early_starts = 0;    // Started before they were submitted.
  std::int64_t unknown_starts = 0;  // Had attempts, but it is not told when the first began.
  std::int64_t open_holds = 0;      // Attempts without an end: taken as held nothing.

  std::vector<Hold> holds;    // Ascending by begin; none where starts are not known.
  std::vector<Step> in_use;   // GPUs; those that several jobs hold count once.
  std::int64_t gpus = 0;      // Of the cluster: of its servers, or the most ever in use.
  bool gpus_counted = false;  // Told, or by servers.
  Instant first;              // Of all that is told.
  Instant last;
  Parties parties;

  const PastJob& past(const StudyJob& job) const { return history.jobs[job.index]; }
  std::uint32_t party_of(const PastJob& job) const {
    return parties.of[history.knows.tenants ? job.tenant : job.user];
  }
};

Asked ask(const History& history, const UseStudy* use, const StudyOptions& options);

// An attempt that failed, and how long it had run by then, if that is told: all leases of it
// together.
struct FailedRun {
  const Attempt* attempt = nullptr;
  std::optional<Duration> run;
};
std::vector<FailedRun> failed_runs(const History& history, const PastJob& job);  // In order.

// How long an attempt ran, if that is told.
std::optional<Duration> run_of(const Attempt& attempt);
std::int64_t gpu_time(Duration time, std::int64_t gpus);  // Stops at the largest number.

}  // namespace muster
