#include "workload/trace/info.h"

#include <algorithm>
#include <map>
#include <utility>

namespace muster {

namespace {

std::size_t count_used(const Trace& trace, const NameTable& table, std::uint32_t TraceJob::*field) {
  std::vector<bool> used(table.size(), false);
  for (const TraceJob& job : trace.jobs) used[job.*field] = true;
  used[0] = false;
  return static_cast<std::size_t>(std::count(used.begin(), used.end(), true));
}

void fill_durations(const Trace& trace, TraceInfo& info) {
  std::vector<std::int64_t> sorted;
  sorted.reserve(trace.jobs.size());
  double sum = 0;
  for (const TraceJob& job : trace.jobs) {
    sorted.push_back(job.duration.us());
    sum += static_cast<double>(job.duration.us());
  }
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  const auto percentile = [&](std::size_t percent) {
    return Duration::micros(sorted[std::min(percent * n / 100, n - 1)]);
  };
  info.p10 = percentile(10);
  info.p90 = percentile(90);
  info.p99 = percentile(99);
  const std::int64_t upper = sorted[n / 2];
  const std::int64_t lower = n % 2 == 0 ? sorted[n / 2 - 1] : upper;
  info.p50 = Duration::micros(lower + (upper - lower) / 2);
  info.longest = Duration::micros(sorted.back());
  info.mean = Duration::micros(static_cast<std::int64_t>(sum / static_cast<double>(n)));
}

void fill_demand(const Trace& trace, TraceInfo& info) {
  // The ends of all jobs, ascending. At the same instant, ends come before starts, because a new
  // job can use the released GPUs.
  std::vector<std::pair<Instant, std::int32_t>> ends;
  ends.reserve(trace.jobs.size());
  for (const TraceJob& job : trace.jobs) {
    if (job.duration > Duration()) ends.emplace_back(job.submit + job.duration, job.gpus);
  }
  if (ends.empty()) return;
  std::sort(ends.begin(), ends.end());
  std::int64_t in_use = 0;
  std::size_t ended = 0;
  for (const TraceJob& job : trace.jobs) {
    while (ended < ends.size() && ends[ended].first <= job.submit) in_use -= ends[ended++].second;
    if (job.duration > Duration()) in_use += job.gpus;
    info.peak_gpus = std::max(info.peak_gpus, in_use);
  }
  info.mean_gpus = info.gpu_hours / (ends.back().first - info.first_submit).in_hours();
}

}  // namespace

TraceInfo describe(const Trace& trace) {
  TraceInfo info;
  if (trace.jobs.empty()) return info;
  info.jobs = static_cast<std::int64_t>(trace.jobs.size());
  info.first_submit = trace.jobs.front().submit;
  info.last_submit = trace.jobs.back().submit;
  info.span = info.last_submit - info.first_submit;
  std::map<std::int32_t, GpuSizeCount> sizes;
  for (const TraceJob& job : trace.jobs) {
    GpuSizeCount& size = sizes[job.gpus];
    const double gpu_hours = job.gpus * job.duration.in_hours();
    size.gpus = job.gpus;
    ++size.jobs;
    size.gpu_hours += gpu_hours;
    info.gpu_hours += gpu_hours;
  }
  for (const auto& [gpus, size] : sizes) info.sizes.push_back(size);
  info.users = count_used(trace, trace.users, &TraceJob::user);
  info.tenants = count_used(trace, trace.tenants, &TraceJob::tenant);
  info.models = count_used(trace, trace.models, &TraceJob::model);
  info.gpu_types = count_used(trace, trace.gpu_types, &TraceJob::gpu_type);
  info.filled = column_uses(trace);
  fill_durations(trace, info);
  fill_demand(trace, info);
  return info;
}

}  // namespace muster
