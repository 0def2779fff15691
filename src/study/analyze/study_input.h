#pragma once

// Data shared by the questions of the study: the jobs that count, their first starts, the GPUs held
// over time, and the largest tenants. Built once from a History, then read only.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/time.h"
#include "engine/failure/retry.h"
#include "sim/results/waiting_summary.h"
#include "study/analyze/study.h"
#include "workload/history/history.h"

namespace muster {

inline constexpr std::size_t kSizes = kWaitSizes.size();

// A job that requested GPUs.
struct StudyJob {
  std::uint32_t index = 0;           // Index into History::jobs.
  std::size_t size = 0;              // Index into kWaitSizes.
  Instant start = Instant::never();  // First attempt, not before submission; never(): unknown.
  Duration wait;                     // Valid if it started.
  std::int64_t gpu_us = 0;           // Run time times GPUs; 0: unknown.

  bool started() const { return start != Instant::never(); }
};

// GPUs that one attempt held.
struct Hold {
  Instant begin;
  Instant end;
  std::uint32_t job = 0;  // Index into History::jobs.
  std::int64_t gpus = 0;
  std::uint32_t attempt = 0;  // Index into History::attempts.
};

// A step function of time: `level` holds from `at` until the next step.
struct Step {
  Instant at;
  std::int64_t level = 0;
};

// Converts changes, in any order, to levels: ascending in time, one per instant, zero before the
// first.
std::vector<Step> steps_of(std::vector<Step> changes);
std::int64_t peak_of(const std::vector<Step>& steps);

// The ten largest tenants by GPU time, and the others as one group. Users if there are no tenants.
struct GroupNames {
  std::string_view noun;           // "tenant" or "user"; empty if neither is known.
  std::vector<std::string> names;  // Largest first; "others" last if there are more.
  std::vector<std::uint32_t> ids;  // Index into the History's table, for each name except "others".
  std::vector<std::uint32_t> of;   // Maps an id of that table to an index into names.

  bool known() const { return !noun.empty(); }
};
inline constexpr std::size_t kMaxParties = 10;

struct StudyInput {
  const History& history;
  const UseStudy* use;
  const StudyOptions& options;

  std::vector<StudyJob> jobs;  // In the order of the History, without jobs that have 0 GPUs.
  std::int64_t without_gpus = 0;
  std::int64_t early_starts = 0;    // Jobs that started before they were submitted.
  std::int64_t unknown_starts = 0;  // Jobs with attempts whose first start is unknown.
  std::int64_t open_holds = 0;      // Attempts without an end: they count as holding no GPUs.

  std::vector<Hold> holds;    // Ascending by begin; empty if starts are unknown.
  std::vector<Step> in_use;   // GPUs in use; a shared GPU counts once.
  std::int64_t gpus = 0;      // GPUs of the cluster: of its nodes, or the maximum ever in use.
  bool gpus_counted = false;  // True if `gpus` is known from the history or its nodes.
  Instant first;              // First and last known instant.
  Instant last;
  GroupNames parties;

  const PastJob& past(const StudyJob& job) const { return history.jobs[job.index]; }
  std::uint32_t party_of(const PastJob& job) const {
    return parties.of[history.knows.tenants ? job.tenant : job.user];
  }
};

StudyInput ask(const History& history, const UseStudy* use, const StudyOptions& options);

// A failed attempt with its run time, if known: the sum of all its leases.
struct FailedRun {
  const Attempt* attempt = nullptr;
  std::optional<Duration> run;
};
std::vector<FailedRun> failed_runs(const History& history, const PastJob& job);  // In order.

// Returns the attempt as the retry policy sees it. REQUIRES: its reason is known.
FailedAttempt failed_attempt(const History& history, const Attempt& attempt);

// Returns the run time of an attempt, if known.
std::optional<Duration> run_of(const Attempt& attempt);
std::int64_t gpu_time(Duration time, std::int64_t gpus);  // Saturates at the maximum.

}  // namespace muster
