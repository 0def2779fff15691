#include "sim/forecast/runtime_sampler.h"

#include <algorithm>

#include "sim/forecast/replanned_engine.h"

namespace muster {

namespace {

constexpr double kWaits = 500;  // Waits over which the rate of cancellations is taken.

template <class Guess>
std::vector<Duration> of_all(const Engine& engine, Instant now, const Guess& guess) {
  const State& state = engine.state();
  const View view(state, now);
  std::vector<Duration> all(state.jobs.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Job& job = state.jobs[JobId(i)];
    if (!is_over(job.state)) all[i] = guess(job.spec, view.facts(JobId(i)).work_done);
  }
  return all;
}

}  // namespace

void RuntimeSampler::record_wait(Duration waited, bool cancelled) {
  const double keep = 1 - 1 / kWaits;
  waited_s_ = waited_s_ * keep + waited.in_seconds();
  cancelled_ = cancelled_ * keep + (cancelled ? 1 : 0);
}

Future RuntimeSampler::draw(const Engine& engine, Instant now, Instant until,
                            Random& random) const {
  RunTimeModel::Sample sample(work_, random);
  Future future;
  future.left = of_all(engine, now,
                       [&](const JobSpec& spec, Duration done) { return sample.left(spec, done); });
  for (const ArrivalModel::Arrival& arrival : arrivals_.draw(now, until, random)) {
    future.arrivals.push_back({arrival.at, arrival.spec, sample.left(arrival.spec, Duration())});
  }
  if (cancelled_ > 0) future.cancel_rate = cancelled_ / std::max(waited_s_, 1.0);
  return future;
}

std::vector<Duration> RuntimeSampler::likely_of_all(const Engine& engine, Instant now) const {
  return of_all(engine, now,
                [&](const JobSpec& spec, Duration done) { return work_.likely(spec, done); });
}

}  // namespace muster
