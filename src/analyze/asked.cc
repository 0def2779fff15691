#include "analyze/asked.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <utility>

#include "base/saturate.h"

namespace muster {

namespace {

StudyJob study_job(const History& history, std::uint32_t index, Asked& asked) {
  const PastJob& past = history.jobs[index];
  StudyJob job;
  job.index = index;
  job.size = size_of(past.gpus);
  job.gpu_us = gpu_time(past.run, past.gpus);
  const std::span<const Attempt> attempts = history.attempts_of(past);
  if (!history.knows.starts || attempts.empty()) return job;
  const Instant start = attempts.front().start;
  if (start == Instant::never()) {
    ++asked.unknown_starts;
    return job;
  }
  if (start < past.submit) ++asked.early_starts;
  job.start = std::max(start, past.submit);
  job.wait = job.start - past.submit;
  return job;
}

std::int64_t gpus_of(const History& history, const PastJob& job, const Attempt& attempt) {
  std::int64_t gpus = 0;
  for (const HostShare& host : history.hosts_of(attempt)) gpus += std::popcount(host.gpus);
  return gpus > 0 ? gpus : job.gpus;
}

void find_span(Asked& asked) {
  const History& history = asked.history;
  if (history.jobs.empty()) return;
  asked.first = history.jobs.front().submit;
  asked.last = history.jobs.back().submit;
  for (const Attempt& attempt : history.attempts) {
    for (const Instant at : {attempt.start, attempt.end}) {
      if (at == Instant::never()) continue;
      asked.first = std::min(asked.first, at);
      asked.last = std::max(asked.last, at);
    }
  }
}

// An attempt without an end was still running if its job has no end either.
void find_holds(Asked& asked) {
  const History& history = asked.history;
  if (!history.knows.starts) return;
  for (const StudyJob& job : asked.jobs) {
    const PastJob& past = asked.past(job);
    const std::span<const Attempt> attempts = history.attempts_of(past);
    for (const Attempt& attempt : attempts) {
      if (attempt.start == Instant::never()) continue;
      Instant end = attempt.end;
      const bool runs_on = past.status == Status::kUnknown && &attempt == &attempts.back();
      if (end == Instant::never() && runs_on) end = asked.last;
      if (end == Instant::never()) ++asked.open_holds;
      if (end == Instant::never() || end <= attempt.start) continue;
      asked.holds.push_back({attempt.start, end, job.index, gpus_of(history, past, attempt)});
    }
  }
  std::stable_sort(asked.holds.begin(), asked.holds.end(),
                   [](const Hold& a, const Hold& b) { return a.begin < b.begin; });
}

void find_gpus(Asked& asked) {
  std::vector<Step> changes;
  changes.reserve(2 * asked.holds.size());
  for (const Hold& hold : asked.holds) {
    changes.push_back({hold.begin, hold.gpus});
    changes.push_back({hold.end, -hold.gpus});
  }
  asked.in_use = steps_of(std::move(changes));
  asked.gpus = peak_of(asked.in_use);
  if (!asked.history.knows.hosts) return;
  std::int64_t seen = 0;
  for (const Server& server : asked.history.servers) seen += server.gpus;
  asked.gpus_counted = seen > 0;
  if (asked.gpus_counted) asked.gpus = seen;
}

std::string shown(const std::string& name) { return name.empty() ? "(none)" : name; }

void find_parties(Asked& asked) {
  const History& history = asked.history;
  const bool tenants = history.knows.tenants;
  if (!tenants && !history.knows.users) return;
  const NameTable& table = tenants ? history.tenants : history.users;
  struct Rank {
    std::int64_t gpu_us = 0;
    std::int64_t jobs = 0;
  };
  std::vector<Rank> ranks(table.size());
  for (const StudyJob& job : asked.jobs) {
    const PastJob& past = asked.past(job);
    Rank& rank = ranks[tenants ? past.tenant : past.user];
    rank.gpu_us = saturating_add(rank.gpu_us, job.gpu_us);
    ++rank.jobs;
  }
  std::vector<std::uint32_t> order(table.size());
  std::iota(order.begin(), order.end(), 0U);
  std::erase_if(order, [&](std::uint32_t id) { return ranks[id].jobs == 0; });
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(ranks[a].gpu_us, ranks[a].jobs) > std::pair(ranks[b].gpu_us, ranks[b].jobs);
  });
  Parties& parties = asked.parties;
  parties.noun = tenants ? "tenant" : "user";
  parties.of.assign(table.size(), static_cast<std::uint32_t>(kMostParties));
  for (std::uint32_t i = 0; i < order.size() && i < kMostParties; ++i) {
    parties.ids.push_back(order[i]);
    parties.names.push_back(shown(table[order[i]]));
    parties.of[order[i]] = i;
  }
  if (order.size() > kMostParties) parties.names.emplace_back("others");
}

}  // namespace

std::size_t size_of(std::int32_t gpus) {
  if (gpus <= 1) return 0;
  if (gpus <= 4) return 1;
  return gpus <= 8 ? 2 : 3;
}

std::vector<Step> steps_of(std::vector<Step> changes) {
  std::sort(changes.begin(), changes.end(), [](const Step& a, const Step& b) {
    return std::pair(a.at, a.level) < std::pair(b.at, b.level);
  });
  std::vector<Step> steps;
  std::int64_t level = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    level += changes[i].level;
    const bool last_of_instant = i + 1 == changes.size() || changes[i + 1].at != changes[i].at;
    const std::int64_t before = steps.empty() ? 0 : steps.back().level;
    if (last_of_instant && level != before) steps.push_back({changes[i].at, level});
  }
  return steps;
}

std::int64_t peak_of(const std::vector<Step>& steps) {
  std::int64_t peak = 0;
  for (const Step& step : steps) peak = std::max(peak, step.level);
  return peak;
}

Asked ask(const History& history, const UseStudy* use, const StudyOptions& options) {
  Asked asked{history, use, options, {}, 0, 0, 0, 0, {}, {}, 0, false, {}, {}, {}};
  asked.jobs.reserve(history.jobs.size());
  for (std::uint32_t i = 0; i < history.jobs.size(); ++i) {
    if (history.jobs[i].gpus <= 0) {
      ++asked.without_gpus;
    } else {
      asked.jobs.push_back(study_job(history, i, asked));
    }
  }
  find_span(asked);
  find_holds(asked);
  find_gpus(asked);
  find_parties(asked);
  return asked;
}

std::vector<const Attempt*> failed_attempts(const History& history, const PastJob& job) {
  std::vector<const Attempt*> failed;
  const std::span<const Attempt> attempts = history.attempts_of(job);
  for (const Attempt& attempt : attempts) {
    if (attempt.failed || attempt.reason) failed.push_back(&attempt);
  }
  const auto count = static_cast<std::size_t>(std::max(job.failures, 0));
  if (!failed.empty() || !history.knows.attempts || !history.knows.failures) return failed;
  if (count == 0 || count > attempts.size() || count + 1 < attempts.size()) return failed;
  for (const Attempt& attempt : attempts.first(count)) failed.push_back(&attempt);
  return failed;
}

std::optional<Duration> run_of(const Attempt& attempt) {
  if (attempt.run > Duration()) return attempt.run;
  if (attempt.start == Instant::never() || attempt.end == Instant::never()) return std::nullopt;
  return std::max(attempt.end - attempt.start, Duration());
}

std::int64_t gpu_time(Duration time, std::int64_t gpus) {
  return saturating_multiply(time.us(), gpus);
}

}  // namespace muster
