#include "sim/forecast/start_forecast.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace muster {

namespace {

constexpr std::size_t kRemembered = 400;
// With fewer errors than this, bands are widened by kAtFirst.
constexpr std::size_t kEnough = 20;
constexpr double kAtFirst = 0.5;
constexpr double kLearning = 0.02;  // Change of End::part per start.
constexpr double kTail = 0.1;       // Share of the starts outside of each end.
// Puts waits of seconds and of days on one scale: differences below a minute hardly count.
constexpr double kSmall = 60;
constexpr double kMaxLog = 30;

double measure(Instant asked, Instant at) {
  if (at == Instant::never()) return kMaxLog;
  return std::log(std::max((at - asked).in_seconds(), 0.0) + kSmall);
}

Instant unmeasure(Instant asked, double value) {
  if (value >= kMaxLog) return Instant::never();
  const double seconds = std::max(std::exp(value) - kSmall, 0.0);
  return asked + Duration::micros(static_cast<std::int64_t>(seconds * 1e6));
}

// Returns the smallest value v such that at least this share of the values is at most v.
template <class Values>
auto quantile(Values values, double part) {
  std::sort(values.begin(), values.end());
  const double at = std::ceil(part * static_cast<double>(values.size())) - 1;
  return values[std::min(static_cast<std::size_t>(std::max(at, 0.0)), values.size() - 1)];
}

}  // namespace

RawBand raw_eta(const Engine& engine, Instant now, JobId job, const RuntimeSampler& guesses,
                const EtaOptions& options) {
  std::vector<Instant> starts;
  const Instant horizon = now + options.horizon;
  for (int drive = 0; drive < options.most_drives; ++drive) {
    const bool enough = drive > 0 && options.enough && options.enough();
    if (drive >= 2 && enough) break;
    Random random(options.seed + static_cast<std::uint64_t>(drive));
    Lookahead hypothetical(engine, now, guesses.left_of_all(engine, now, random), options.costs);
    hypothetical.expect(guesses.arrivals(now, horizon, random));
    starts.push_back(hypothetical.start_of(job, horizon));
  }
  RawBand raw;
  raw.drives = static_cast<int>(starts.size());
  raw.band = {quantile(starts, kTail), quantile(starts, 0.5), quantile(starts, 1 - kTail)};
  return raw;
}

std::map<JobId, Band> raw_etas(const Engine& engine, Instant now, std::span<const JobId> jobs,
                               const RuntimeSampler& guesses, const EtasOptions& options) {
  constexpr int kAskEvery = 16;
  std::map<JobId, std::vector<Instant>> starts;
  for (const JobId job : jobs) starts[job];
  const Instant horizon = now + options.horizon;
  int drives = 0;
  while (drives < options.most_drives && !starts.empty()) {
    Random random(options.seed + static_cast<std::uint64_t>(drives));
    Lookahead hypothetical(engine, now, guesses.left_of_all(engine, now, random), options.costs);
    hypothetical.expect(guesses.arrivals(now, horizon, random));
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
  std::map<JobId, Band> bands;
  for (const auto& [job, times] : starts) {
    if (times.empty()) continue;
    bands[job] = {quantile(times, kTail), quantile(times, 0.5), quantile(times, 1 - kTail)};
  }
  return bands;
}

double ForecastErrors::correction(const End& end) {
  if (end.past.size() < kEnough) return end.part < 0.5 ? kAtFirst : 0;
  const double worst = quantile(end.past, 1);
  if (end.part <= 0) return worst + kAtFirst;
  return std::min(quantile(end.past, 1 - end.part), worst);
}

void ForecastErrors::learn(End& end, double error, bool missed) {
  end.past.push_back(error);
  if (end.past.size() > kRemembered) end.past.pop_front();
  end.part = std::clamp(end.part + kLearning * (kTail - (missed ? 1 : 0)), -0.5, 0.5);
}

void ForecastErrors::learn(Instant asked, const Band& raw, const Band& told, Instant started) {
  const double real = measure(asked, started);
  learn(low_, measure(asked, raw.soonest) - real, started < told.soonest);
  learn(high_, real - measure(asked, raw.latest), started > told.latest);
  middle_.past.push_back(real - measure(asked, raw.likely));
  if (middle_.past.size() > kRemembered) middle_.past.pop_front();
}

Band ForecastErrors::corrected(Instant asked, const Band& raw) const {
  if (raw.soonest == Instant::never()) return raw;
  Band band;
  band.soonest = unmeasure(asked, measure(asked, raw.soonest) - correction(low_));
  band.latest = raw.latest == Instant::never()
                    ? raw.latest
                    : unmeasure(asked, measure(asked, raw.latest) + correction(high_));
  band.latest = std::max(band.soonest, band.latest);
  const Instant likely = raw.likely == Instant::never()
                             ? raw.likely
                             : unmeasure(asked, measure(asked, raw.likely) + correction(middle_));
  band.likely = std::clamp(likely, band.soonest, band.latest);
  return band;
}

}  // namespace muster
