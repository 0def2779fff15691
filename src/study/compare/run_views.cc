#include "study/compare/run_views.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace muster {

namespace {

// Indices into LeaseTimeline::ends.
enum End : std::uint32_t { kFinished, kStopped, kFailed, kNotOver };

// Nodes in natural order of their names: s2 before s10.
std::vector<std::uint32_t> node_order(const History& history) {
  std::vector<std::uint32_t> order(history.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::string& first = history.nodes[a].name;
    const std::string& second = history.nodes[b].name;
    return first.size() != second.size() ? first.size() < second.size() : first < second;
  });
  return order;
}

// Returns the first row of each node, by its index in the history.
std::vector<std::uint32_t> add_nodes(const History& history, LeaseTimeline& timeline) {
  std::vector<std::uint32_t> first(history.nodes.size());
  std::uint32_t row = 0;
  for (const std::uint32_t node : node_order(history)) {
    first[node] = row;
    row += static_cast<std::uint32_t>(history.nodes[node].gpus);
    timeline.nodes.push_back({history.nodes[node].name, history.nodes[node].gpus});
  }
  timeline.gpus = history.gpus > 0 ? history.gpus : row;
  return first;
}

std::string tenant_name(const std::string& name) { return std::string(tenant_or_default(name)); }

// Index into the causes: 0 is none.
std::uint32_t main_cause(const WaitSplit& waited) {
  const auto most = std::max_element(waited.by_cause.begin(), waited.by_cause.end());
  if (*most <= Duration()) return 0;
  return static_cast<std::uint32_t>(most - waited.by_cause.begin()) + 1;
}

std::uint32_t end_of(const PastJob& job, const Attempt& attempt, bool last) {
  if (attempt.failed) return kFailed;
  if (!last) return kStopped;
  switch (job.status) {
    case Status::kPassed:
      return kFinished;
    case Status::kKilled:
      return kStopped;
    case Status::kFailed:
      return kFailed;
    case Status::kUnknown:
      break;
  }
  return kNotOver;
}

bool is_told(const Attempt& attempt) {
  return attempt.host_count > 0 && attempt.start != Instant::never() &&
         attempt.end != Instant::never();
}

std::int64_t gpus_of(const History& history, const Attempt& attempt) {
  std::int64_t gpus = 0;
  for (const HostShare& share : history.hosts_of(attempt)) gpus += std::popcount(share.gpus);
  return gpus;
}

void add_job(const History& history, std::size_t index, const std::vector<std::uint32_t>& rows,
             LeaseTimeline& timeline) {
  const PastJob& job = history.jobs[index];
  const auto number = static_cast<std::uint32_t>(timeline.jobs.size());
  timeline.jobs.push_back({history.ids[job.id], history.models[job.model], history.users[job.user],
                           job.tenant, history.waits.empty() ? 0 : main_cause(history.waits[index]),
                           job.gpus});
  const std::span<const Attempt> attempts = history.attempts_of(job);
  for (const Attempt& attempt : attempts) {
    if (!is_told(attempt)) continue;
    TimelineBar bar{0, number, end_of(job, attempt, &attempt == &attempts.back()), attempt.start,
                    attempt.end};
    for (const HostShare& share : history.hosts_of(attempt)) {
      for (std::uint64_t left = share.gpus; left != 0; left &= left - 1) {
        bar.row = rows[share.node] + static_cast<std::uint32_t>(std::countr_zero(left));
        timeline.bars.push_back(bar);
      }
    }
  }
}

// From the run's own file, where both columns have the same instants.
void add_told_load(const RunFiles& run, LeaseTimeline& timeline) {
  for (std::size_t i = 0; i < run.busy.size(); ++i) {
    timeline.load.push_back({run.busy[i].at, static_cast<double>(run.busy[i].level),
                             static_cast<double>(run.waiting[i].level)});
  }
}

const Attempt* last_told(std::span<const Attempt> attempts) {
  const auto last = std::find_if(attempts.rbegin(), attempts.rend(), is_told);
  return last == attempts.rend() ? nullptr : &*last;
}

// A job waits from its submission to its first lease, and from each lease to the next. An ended job
// that never ran is ignored, because the end of its wait is unknown.
void add_counted_load(const History& history, LeaseTimeline& timeline) {
  std::vector<TimelineLoad> changes;
  const auto change = [&](Instant at, std::int64_t busy, double waiting) {
    changes.push_back({at, static_cast<double>(busy), waiting});
  };
  for (const PastJob& job : history.jobs) {
    const Attempt* const last = last_told(history.attempts_of(job));
    if (job.rejected || (last == nullptr && job.status != Status::kUnknown)) continue;
    change(job.submit, 0, 1);
    for (const Attempt& attempt : history.attempts_of(job)) {
      if (!is_told(attempt)) continue;
      change(attempt.start, gpus_of(history, attempt), -1);
      change(attempt.end, -gpus_of(history, attempt), &attempt == last ? 0 : 1);
    }
  }
  timeline.load = load_of(std::move(changes));
}

TimeWindow whole_of(const History& history) {
  TimeWindow whole;
  if (history.knows.dates && !history.jobs.empty()) whole.begin = history.jobs.front().submit;
  whole.end = whole.begin;
  for (const PastJob& job : history.jobs) whole.end = std::max(whole.end, job.submit);
  for (const Attempt& attempt : history.attempts) {
    if (is_told(attempt)) whole.end = std::max(whole.end, attempt.end);
  }
  return whole;
}

}  // namespace

LeaseTimeline timeline_of(const RunFiles& run) {
  const History& history = run.history;
  LeaseTimeline timeline;
  timeline.whole = whole_of(history);
  timeline.dates = history.knows.dates;
  const std::vector<std::uint32_t> rows = add_nodes(history, timeline);
  for (std::uint32_t i = 0; i < history.tenants.size(); ++i) {
    timeline.tenants.push_back(tenant_name(history.tenants[i]));
  }
  timeline.causes = {history.waits.empty() ? "not known" : "did not wait"};
  if (!history.waits.empty()) {
    timeline.causes.insert(timeline.causes.end(), kWaitCauseNames.begin(), kWaitCauseNames.end());
  }
  timeline.ends = {"finished", "stopped", "failed", "not over"};
  for (std::size_t i = 0; i < history.jobs.size(); ++i) add_job(history, i, rows, timeline);
  sort_bars(timeline);
  run.busy.empty() ? add_counted_load(history, timeline) : add_told_load(run, timeline);
  return timeline;
}

UsageFacts usage_of(const RunFiles& run, const TenantTree* tenants, const TimeWindow& window,
                    std::size_t points) {
  const History& history = run.history;
  UsageFacts facts;
  facts.window = window;
  facts.points = points;
  std::map<std::string, std::uint32_t> places;
  const auto add = [&](const std::string& name) -> std::uint32_t {
    const auto [at, fresh] = places.emplace(name, static_cast<std::uint32_t>(facts.tenants.size()));
    if (fresh) {
      UsageTenant tenant;
      tenant.name = name;
      facts.tenants.push_back(std::move(tenant));
    }
    return at->second;
  };
  for (std::size_t i = 0; tenants != nullptr && i < tenants->size(); ++i) {
    const Tenant& tenant = (*tenants)[TenantId(i)];
    const std::uint32_t place = add(tenant.name);
    facts.tenants[place].quota = tenant.quota;
    if (tenant.parent)
      facts.tenants[place].parent = static_cast<std::uint32_t>(tenant.parent->index());
  }
  for (const PastJob& job : history.jobs) {
    const std::uint32_t tenant = add(tenant_name(history.tenants[job.tenant]));
    Instant end = job.submit;
    for (const Attempt& attempt : history.attempts_of(job)) {
      if (!is_told(attempt)) continue;
      end = std::max(end, attempt.end);
      facts.holds.push_back({tenant, attempt.start, attempt.end, gpus_of(history, attempt)});
    }
    if (job.rejected) continue;
    facts.work.push_back({tenant, job.submit, job.status == Status::kUnknown ? window.end : end});
  }
  return facts;
}

}  // namespace muster
