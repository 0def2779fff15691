#include "sim/forecast/start_forecast.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/forecast/replanned_engine.h"

namespace muster {

namespace {

constexpr int kAskEvery = 16;  // Steps of a simulation between two calls of `tired`.

// A lookahead simulation with one sample of the future. Jobs in `keep` are not cancelled.
template <class Jobs>
Lookahead sample_future(const Engine& engine, Instant now, const FutureModel& model,
                        const ForecastOptions& options, int drive, const Jobs& keep) {
  Random random(options.seed + static_cast<std::uint64_t>(drive));
  Future future = model.draw(engine, now, now + options.horizon, random);
  Lookahead hypothetical(engine, now, std::move(future.left), options.costs);
  if (future.cancel_rate > 0) {
    const auto patience = [&] {
      const double seconds = std::min(random.exponential(1 / future.cancel_rate), 1e9);
      return Duration::micros(static_cast<std::int64_t>(seconds * 1e6) + 1);
    };
    const auto& jobs = engine.state().jobs;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Job& job = jobs[JobId(i)];
      if (job.state != JobState::kWaiting || job.epoch != 0 || keep.contains(JobId(i))) continue;
      hypothetical.expect_cancel(JobId(i), now + patience());
    }
    for (FutureArrival& arrival : future.arrivals) arrival.patience = patience();
  }
  hypothetical.expect(std::move(future.arrivals));
  for (const FutureNode& node : options.nodes) hypothetical.expect_node(node);
  return hypothetical;
}

}  // namespace

std::map<JobId, StartSamples> sample_starts(const Engine& engine, Instant now,
                                            std::span<const JobId> jobs, const FutureModel& model,
                                            const ForecastOptions& options) {
  std::map<JobId, StartSamples> starts;
  for (const JobId job : jobs) starts[job];
  const Instant horizon = now + options.horizon;
  int drives = 0;
  while (drives < options.most_drives && !starts.empty()) {
    Lookahead hypothetical = sample_future(engine, now, model, options, drives, starts);
    std::size_t seen = 0;
    std::size_t missing = starts.size();
    bool over = false;
    bool tired = false;
    const auto due = static_cast<std::size_t>(drives) + 1;
    for (int step = 1; missing > 0 && !over && !tired; ++step) {
      over = !hypothetical.advance(horizon);
      for (; seen < hypothetical.started().size(); ++seen) {
        const auto job = starts.find(hypothetical.started()[seen]);
        if (job == starts.end() || job->second.size() == due) continue;  // It has started before.
        job->second.push_back(hypothetical.now());
        --missing;
      }
      tired = step % kAskEvery == 0 && options.tired && options.tired(drives);
    }
    // A job that has not started by the horizon counts as never. After a cut it is unknown.
    std::erase_if(starts, [&](const auto& job) { return tired && job.second.size() < due; });
    for (auto& [job, times] : starts) times.resize(due, Instant::never());
    ++drives;
    if (options.enough && options.enough(drives)) break;
  }
  std::erase_if(starts, [](const auto& job) { return job.second.empty(); });
  for (auto& [job, times] : starts) std::sort(times.begin(), times.end());
  return starts;
}

std::map<JobId, Instant> starts_by_limits(const Engine& engine, Instant now,
                                          std::span<const JobId> jobs, Duration limit) {
  const State& state = engine.state();
  const View view(state, now);
  std::vector<Duration> left(state.jobs.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (is_over(state.jobs[JobId(i)].state)) continue;
    left[i] = std::max(limit - view.facts(JobId(i)).work_done, Duration::seconds(1));
  }
  std::map<JobId, Instant> starts;
  for (const JobId job : jobs) starts[job] = Instant::never();
  Lookahead future(engine, now, std::move(left));
  const Instant horizon = now + ForecastOptions().horizon;
  std::size_t seen = 0;
  for (std::size_t missing = starts.size(); missing > 0 && future.advance(horizon);) {
    for (; seen < future.started().size(); ++seen) {
      const auto job = starts.find(future.started()[seen]);
      if (job == starts.end() || job->second != Instant::never()) continue;
      job->second = future.now();
      --missing;
    }
  }
  return starts;
}

}  // namespace muster
