#include "sim/results/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/compat/compat.h"

namespace muster {

namespace {

__extension__ typedef __int128 Int128;  // Sums of many long times do not fit in 64 bits.

Duration rounded_mean(Int128 sum, std::size_t count) {
  const Int128 n = static_cast<Int128>(count);
  return Duration::micros(static_cast<std::int64_t>((2 * sum + n) / (2 * n)));
}

Spread spread_of(std::vector<std::int64_t> micros, bool as_numpy) {
  if (micros.empty()) return {};
  std::sort(micros.begin(), micros.end());
  const std::size_t n = micros.size();
  const auto percentile = [&](std::size_t p) {
    return Duration::micros(as_numpy ? numpy_percentile(micros, p) : micros[p * n / 100]);
  };
  Int128 sum = 0;
  for (const std::int64_t value : micros) sum += value;
  Spread spread;
  spread.mean = rounded_mean(sum, n);
  spread.p50 = rounded_mean(static_cast<Int128>(micros[(n - 1) / 2]) + micros[n / 2], 2);
  spread.p95 = percentile(95);
  spread.p99 = percentile(99);
  return spread;
}

// The time span from the first submit to the last end; empty if no job was covered.
struct Stretch {
  Instant begin = Instant::never();
  Instant end = Instant::micros(0);

  void cover(Instant from, Instant to) {
    begin = std::min(begin, from);
    end = std::max(end, to);
  }
  Duration length() const { return begin == Instant::never() ? Duration() : end - begin; }
};

void count_window(const SimResult& result, Window window, Summary& summary) {
  std::vector<std::int64_t> jct, wait;
  for (std::size_t i = window.first; i < window.last; ++i) {
    const JobOutcome& job = result.jobs[i];
    ++summary.jobs;
    switch (job.fate) {
      case JobResult::kFinished:
        ++summary.finished;
        jct.push_back(job.jct().us());
        wait.push_back(job.wait().us());
        break;
      case JobResult::kKilled:
        ++summary.killed;
        break;
      case JobResult::kUnfinished:
        ++summary.unfinished;
        break;
      case JobResult::kFailed:
        ++summary.failed;
        break;
      case JobResult::kRejected:
        if (summary.rejected++ == 0) summary.first_rejection = job.why_rejected;
        break;
    }
  }
  summary.jct = spread_of(std::move(jct), result.numpy_statistics);
  summary.wait = spread_of(std::move(wait), result.numpy_statistics);
}

}  // namespace

std::vector<TenantSpec> quotas_of(const TenantTree& tenants) {
  std::vector<TenantSpec> quotas;
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const Tenant& tenant = tenants[TenantId(i)];
    TenantSpec spec;
    spec.name = tenant.name;
    if (tenant.parent) spec.parent = tenants[*tenant.parent].name;
    spec.quota = tenant.quota;
    quotas.push_back(std::move(spec));
  }
  return quotas;
}

Summary summarize(const SimResult& result, const Topology& topology, std::optional<Window> window) {
  Summary summary;
  summary.gpus = topology.total().gpus;
  Window measured = window.value_or(Window{0, result.jobs.size()});
  measured.last = std::min(measured.last, result.jobs.size());
  measured.first = std::min(measured.first, measured.last);
  if (window) summary.window = measured;
  count_window(result, measured, summary);
  summary.waiting = summarize_waiting(result, measured.first, measured.last);

  Stretch finished, busy;
  for (const JobOutcome& job : result.jobs) {
    summary.preemptions += static_cast<std::uint64_t>(job.preemptions);
    summary.migrations += static_cast<std::uint64_t>(job.migrations);
    if (job.fate == JobResult::kFinished) {
      finished.cover(job.submit, job.end);
      busy.cover(job.submit, job.end);
    } else if (job.has_ended()) {
      busy.cover(job.submit, job.end);
    } else if (job.start != Instant::never()) {
      busy.cover(job.submit, job.start + job.run);  // It held GPUs at least until then.
    }
  }
  if (result.numpy_statistics) finished.begin = std::min(finished.begin, Instant());
  summary.makespan = finished.length();
  summary.gpu_time = Duration::micros(result.gpu_us);
  const double available =
      static_cast<double>(topology.total().gpus) * static_cast<double>(busy.length().us());
  if (available > 0) summary.gpu_utilization = static_cast<double>(result.gpu_us) / available;

  summary.failures = result.failures;
  summary.events = result.events;
  summary.decisions = result.decisions;
  summary.rounds = result.rounds;
  summary.digest = fmt::format("{:016x}", result.digest);
  summary.partial = result.partial;
  return summary;
}

}  // namespace muster
