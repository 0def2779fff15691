#include "study/analyze/study_input.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "base/types/saturate.h"
#include "engine/model/tenants.h"

namespace muster {

namespace {

StudyJob study_job(const History& history, std::uint32_t index, StudyInput& asked) {
  const PastJob& past = history.jobs[index];
  StudyJob job;
  job.index = index;
  job.size = wait_size_of(past.gpus);
  job.gpu_us = past.gpu_us > 0 ? past.gpu_us : gpu_time(past.run, past.gpus);
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

void find_span(StudyInput& asked) {
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
void find_holds(StudyInput& asked) {
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
      asked.holds.push_back({attempt.start, end, job.index, gpus_of(history, past, attempt),
                             static_cast<std::uint32_t>(&attempt - history.attempts.data())});
    }
  }
  std::stable_sort(asked.holds.begin(), asked.holds.end(),
                   [](const Hold& a, const Hold& b) { return a.begin < b.begin; });
}

struct Busy {
  std::uint64_t gpu = 0;
  Instant begin, end;
};

// Counts per GPU, because several jobs may share one. Holds with unknown GPUs are added.
std::vector<Step> changes_of(const StudyInput& asked) {
  std::vector<Step> changes;
  std::vector<Busy> busy;
  const auto add = [&](Instant begin, Instant end, std::int64_t gpus) {
    changes.push_back({begin, gpus});
    changes.push_back({end, -gpus});
  };
  for (const Hold& hold : asked.holds) {
    const auto hosts = asked.history.hosts_of(asked.history.attempts[hold.attempt]);
    if (hosts.empty() || !asked.history.knows.slots) {
      add(hold.begin, hold.end, hold.gpus);
      continue;
    }
    for (const HostShare& host : hosts) {
      for (std::uint64_t left = host.gpus; left != 0; left &= left - 1) {
        const auto slot = static_cast<std::uint64_t>(std::countr_zero(left));
        busy.push_back({(std::uint64_t{host.node} << 6) | slot, hold.begin, hold.end});
      }
    }
  }
  std::sort(busy.begin(), busy.end(), [](const Busy& a, const Busy& b) {
    return std::tuple(a.gpu, a.begin, a.end) < std::tuple(b.gpu, b.begin, b.end);
  });
  for (std::size_t i = 0; i < busy.size();) {
    Busy span = busy[i++];
    for (; i < busy.size() && busy[i].gpu == span.gpu && busy[i].begin <= span.end; ++i) {
      span.end = std::max(span.end, busy[i].end);
    }
    add(span.begin, span.end, 1);
  }
  return changes;
}

void find_gpus(StudyInput& asked) {
  asked.in_use = steps_of(changes_of(asked));
  asked.gpus = peak_of(asked.in_use);
  std::int64_t told = asked.history.gpus;
  if (told == 0 && asked.history.knows.hosts) {
    for (const HistoryNode& node : asked.history.nodes) told += node.gpus;
  }
  asked.gpus_counted = told > 0;
  if (asked.gpus_counted) asked.gpus = told;
}

void find_parties(StudyInput& asked) {
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
  GroupNames& parties = asked.parties;
  parties.noun = tenants ? "tenant" : "user";
  parties.of.assign(table.size(), static_cast<std::uint32_t>(kMaxParties));
  for (std::uint32_t i = 0; i < order.size() && i < kMaxParties; ++i) {
    parties.ids.push_back(order[i]);
    const std::string& name = table[order[i]];
    parties.names.emplace_back(tenants        ? std::string(tenant_or_default(name))
                               : name.empty() ? "unknown user"
                                              : name);
    parties.of[order[i]] = i;
  }
  if (order.size() > kMaxParties) parties.names.emplace_back("others");
}

}  // namespace

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

StudyInput ask(const History& history, const UseStudy* use, const StudyOptions& options) {
  StudyInput asked{history, use, options, {}, 0, 0, 0, 0, {}, {}, 0, false, {}, {}, {}};
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

std::vector<FailedRun> failed_runs(const History& history, const PastJob& job) {
  std::vector<FailedRun> failed;
  std::optional<Duration> run;
  for (const Attempt& attempt : history.attempts_of(job)) {
    if (!attempt.resumed) run = Duration();
    const std::optional<Duration> more = run_of(attempt);
    if (run && more) run = *run + *more;
    if (!more) run.reset();
    if (attempt.failed) failed.push_back({&attempt, run});
  }
  return failed;
}

FailedAttempt failed_attempt(const History& history, const Attempt& attempt) {
  FailedAttempt failed;
  failed.reason = *attempt.reason;
  for (const HostShare& host : history.hosts_of(attempt)) failed.nodes.emplace_back(host.node);
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
