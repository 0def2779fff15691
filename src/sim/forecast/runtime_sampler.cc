#include "sim/forecast/runtime_sampler.h"

#include <algorithm>
#include <iterator>

#include "sim/forecast/replanned_engine.h"

namespace muster {

namespace {

// A group with fewer samples is skipped in favor of a wider one.
constexpr std::size_t kEnoughSamples = 4;
constexpr std::size_t kMaxHypothetical = 2'000;  // Maximum number of future arrivals.
constexpr int kUsersWord = 2;  // The user's estimate is considered before this level.
constexpr double kWordSigma = 0.6;
constexpr double kHalfOfExponential = 0.6931471805599453;    // Median for a mean of 1.
constexpr Duration kSettled = Duration::seconds(3 * 3'600);  // Minimum span of the arrival rate.
constexpr std::int64_t kBeyond = 5;  // Arrivals end after this many times the observed span.

Duration at_least_a_minute(Duration done) { return std::max(done, Duration::seconds(60)); }

Duration scaled(Duration duration, double factor) {
  const double us = static_cast<double>(duration.us()) * factor;
  const auto most = static_cast<double>(kLongestDuration.us());
  return Duration::micros(static_cast<std::int64_t>(std::clamp(us, 1.0, most)));
}

}  // namespace

RuntimeSampler::Basis RuntimeSampler::basis_of(const JobSpec& spec, Duration done,
                                               bool heed_word) const {
  Basis basis;
  for (int level = 0; level < PastRunTimes::kLevels; ++level) {
    if (level == kUsersWord && heed_word && spec.estimate > done) {
      basis.word = true;
      return basis;
    }
    const std::vector<Duration>* const found = past_.find(spec, level);
    if (found == nullptr) continue;
    const std::vector<Duration>& latest = *found;
    if (latest.size() < kEnoughSamples && level + 1 < PastRunTimes::kLevels) continue;
    std::copy_if(latest.begin(), latest.end(), std::back_inserter(basis.longer),
                 [&](Duration work) { return work > done; });
    if (!basis.longer.empty()) return basis;
  }
  return basis;
}

void RuntimeSampler::record_arrival(Instant at, const JobSpec& spec) {
  arrivals_.push_back({at, spec});
  if (arrivals_.size() > kArrivals) arrivals_.pop_front();
}

void RuntimeSampler::learn(const JobSpec& spec, Duration work) { past_.add(spec, work); }

Duration RuntimeSampler::left(const JobSpec& spec, Duration done, Random& random) const {
  Basis basis = basis_of(spec, done, true);
  if (basis.word) {
    const Duration word = scaled(spec.estimate, portable_exp(kWordSigma * random.normal()));
    if (word > done) return word - done;
    basis = basis_of(spec, done, false);
  }
  if (basis.longer.empty()) return scaled(at_least_a_minute(done), random.exponential(1));
  return basis.longer[random.below(basis.longer.size())] - done;
}

Duration RuntimeSampler::likely(const JobSpec& spec, Duration done) const {
  Basis basis = basis_of(spec, done, true);
  if (basis.word) return spec.estimate - done;
  if (basis.longer.empty()) return scaled(at_least_a_minute(done), kHalfOfExponential);
  const auto middle = basis.longer.begin() + std::ssize(basis.longer) / 2;
  std::nth_element(basis.longer.begin(), middle, basis.longer.end());
  return *middle - done;
}

template <class Guess>
static std::vector<Duration> of_all(const Engine& engine, Instant now, const Guess& guess) {
  const State& state = engine.state();
  const View view(state, now);
  std::vector<Duration> all(state.jobs.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Job& job = state.jobs[JobId(i)];
    if (!is_over(job.state)) all[i] = guess(job.spec, view.facts(JobId(i)).work_done);
  }
  return all;
}

std::vector<Duration> RuntimeSampler::left_of_all(const Engine& engine, Instant now,
                                                  Random& random) const {
  return of_all(engine, now,
                [&](const JobSpec& spec, Duration done) { return left(spec, done, random); });
}

std::vector<Duration> RuntimeSampler::likely_of_all(const Engine& engine, Instant now) const {
  return of_all(engine, now,
                [&](const JobSpec& spec, Duration done) { return likely(spec, done); });
}

std::vector<FutureArrival> RuntimeSampler::arrivals(Instant now, Instant until,
                                                    Random& random) const {
  std::vector<FutureArrival> all;
  if (arrivals_.size() < kEnoughSamples) return all;
  const Duration seen = std::max(now - arrivals_.front().at, kSettled);
  const double mean = seen.in_seconds() / static_cast<double>(arrivals_.size());
  until = std::min(until, now + seen * kBeyond);
  Instant at = now;
  while (all.size() < kMaxHypothetical) {
    at = at + scaled(Duration::seconds(1), random.exponential(std::max(mean, 1e-3)));
    if (at >= until) break;
    const JobSpec& spec = arrivals_[random.below(arrivals_.size())].spec;
    all.push_back({at, spec, left(spec, Duration(), random)});
  }
  return all;
}

}  // namespace muster
