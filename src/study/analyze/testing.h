#pragma once

// Small histories for tests: random ones in whole seconds, so that a loop over seconds can
// recompute each figure exactly. page_testing.h reads the pages of their analyses.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/random.h"
#include "study/analyze/study.h"
#include "study/analyze/study_input.h"

namespace muster {

inline Instant second(std::int64_t s) { return Instant::at(Duration::seconds(s)); }
inline std::int64_t seconds_of(Duration d) { return d.us() / 1'000'000; }

// The level of the last step up to `at`; 0 before the first.
inline std::int64_t level_at(const std::vector<Step>& steps, Instant at) {
  std::int64_t level = 0;
  for (const Step& step : steps) {
    if (step.at <= at) level = step.level;
  }
  return level;
}

// Adds a job without attempts. The caller may change it, and must add its attempts immediately.
inline PastJob& add_job(History& history, std::int64_t submit_s, std::int32_t gpus,
                        std::string_view tenant = "a", std::string_view user = "u") {
  PastJob job;
  job.id = history.ids.intern("job " + std::to_string(history.jobs.size()));
  job.submit = second(submit_s);
  job.gpus = gpus;
  job.tenant = history.tenants.intern(tenant);
  job.user = history.users.intern(user);
  job.attempts = static_cast<std::uint32_t>(history.attempts.size());
  history.jobs.push_back(job);
  return history.jobs.back();
}

// Adds an attempt to the last job.
inline Attempt& add_attempt(History& history, std::int64_t start_s, std::int64_t end_s,
                            bool failed = false, std::optional<Reason> reason = std::nullopt) {
  Attempt attempt;
  attempt.start = second(start_s);
  attempt.end = second(end_s);
  attempt.run = attempt.end - attempt.start;
  attempt.hosts = static_cast<std::uint32_t>(history.hosts.size());
  attempt.failed = failed;
  attempt.reason = reason;
  history.attempts.push_back(attempt);
  PastJob& job = history.jobs.back();
  ++job.attempt_count;
  job.run += attempt.run;
  if (failed) ++job.failures;
  return history.attempts.back();
}

inline Knows all_known() {
  Knows knows;
  knows.runs = knows.starts = knows.attempts = knows.hosts = knows.status = true;
  knows.failures = knows.reasons = knows.tenants = knows.users = true;
  return knows;
}

// All data is known; statuses, reasons, nodes and unusual jobs of every kind. No quota applies:
// jobs start at random times.
inline History random_history(std::uint64_t seed, int jobs) {
  constexpr std::array<std::int32_t, 9> kGpus = {0, 1, 1, 2, 4, 5, 8, 9, 16};
  Random random(seed);
  const auto below = [&](std::uint64_t bound) { return random.below(bound); };
  History history;
  history.knows = all_known();
  for (int i = 0; i < 6; ++i) history.nodes.push_back({"s" + std::to_string(i), 8, 8, 16});
  std::int64_t now = 0;
  for (int i = 0; i < jobs; ++i) {
    now += static_cast<std::int64_t>(below(40));
    const std::string tenant(1, static_cast<char>('a' + below(4)));
    const std::string user = tenant + std::to_string(below(3));
    PastJob& job = add_job(history, now, kGpus[below(kGpus.size())], tenant, user);
    job.status = static_cast<Status>(below(4));
    const Status status = job.status;
    const std::uint64_t attempts = job.gpus == 0 ? 0 : below(4);
    std::int64_t at = now + static_cast<std::int64_t>(below(3) * below(100));
    for (std::uint64_t k = 0; k < attempts; ++k) {
      const auto run = static_cast<std::int64_t>(1 + below(300));
      const bool failed = k + 1 < attempts || status == Status::kFailed;
      const bool told = below(8) > 0;
      const auto reason = static_cast<Reason>(below(kReasonCount));
      Attempt& attempt = add_attempt(history, at, at + run, failed,
                                     failed && told ? std::optional(reason) : std::nullopt);
      attempt.host_count = static_cast<std::uint32_t>(1 + below(3));
      for (std::uint32_t h = 0; h < attempt.host_count; ++h) {
        history.hosts.push_back({h, 0});  // 0: the number of GPUs is that of the job.
      }
      at += run + static_cast<std::int64_t>(below(50));
    }
  }
  return history;
}

}  // namespace muster
