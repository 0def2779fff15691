#include "sim/forecast/guesses.h"

#include <algorithm>
#include <iterator>

#include "sim/forecast/rebuilt.h"

namespace muster {

namespace {

constexpr std::size_t kEnoughSamples = 4;  // Of a group, to go by it and no wider one.
constexpr std::size_t kNewcomers = 2'000;  // Imagined at most.
constexpr int kUsersWord = 2;              // Comes before this level.
constexpr double kWordSigma = 0.6;
constexpr double kHalfOfExponential = 0.6931471805599453;    // Its median, of a mean of one.
constexpr Duration kSettled = Duration::seconds(3 * 3'600);  // Arrivals count over this at least.
constexpr std::int64_t kBeyond = 5;  // Times what was seen; further nobody is imagined to come.

Duration at_least_a_minute(Duration done) { return std::max(done, Duration::seconds(60)); }

Duration scaled(Duration duration, double factor) {
  const double us = static_cast<double>(duration.us()) * factor;
  const auto most = static_cast<double>(kLongestDuration.us());
  return Duration::micros(static_cast<std::int64_t>(std::clamp(us, 1.0, most)));
}

}  // namespace

Guesses::Basis Guesses::basis_of(const JobSpec& spec, Duration done, bool heed_word) const {
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

void Guesses::came(Instant at, const JobSpec& spec) {
  arrivals_.push_back({at, spec});
  if (arrivals_.size() > kArrivals) arrivals_.pop_front();
}

void Guesses::learn(const JobSpec& spec, Duration work) { past_.add(spec, work); }

Duration Guesses::left(const JobSpec& spec, Duration done, Random& random) const {
  Basis basis = basis_of(spec, done, true);
  if (basis.word) {
    const Duration word = scaled(spec.estimate, portable_exp(kWordSigma * random.normal()));
    if (word > done) return word - done;
    basis = basis_of(spec, done, false);
  }
  if (basis.longer.empty()) return scaled(at_least_a_minute(done), random.exponential(1));
  return basis.longer[random.below(basis.longer.size())] - done;
}

Duration Guesses::likely(const JobSpec& spec, Duration done) const {
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

std::vector<Duration> Guesses::left_of_all(const Engine& engine, Instant now,
                                           Random& random) const {
  return of_all(engine, now,
                [&](const JobSpec& spec, Duration done) { return left(spec, done, random); });
}

std::vector<Duration> Guesses::likely_of_all(const Engine& engine, Instant now) const {
  return of_all(engine, now,
                [&](const JobSpec& spec, Duration done) { return likely(spec, done); });
}

std::vector<Newcomer> Guesses::newcomers(Instant now, Instant until, Random& random) const {
  std::vector<Newcomer> all;
  if (arrivals_.size() < kEnoughSamples) return all;
  const Duration seen = std::max(now - arrivals_.front().at, kSettled);
  const double mean = seen.in_seconds() / static_cast<double>(arrivals_.size());
  until = std::min(until, now + seen * kBeyond);
  Instant at = now;
  while (all.size() < kNewcomers) {
    at = at + scaled(Duration::seconds(1), random.exponential(std::max(mean, 1e-3)));
    if (at >= until) break;
    const JobSpec& spec = arrivals_[random.below(arrivals_.size())].spec;
    all.push_back({at, spec, left(spec, Duration(), random)});
  }
  return all;
}

}  // namespace muster
