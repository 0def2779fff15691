#include "forecast/guesses.h"

#include <algorithm>

#include "forecast/rebuilt.h"

namespace muster {

namespace {

constexpr std::size_t kRemembered = 64;    // Run times a group.
constexpr std::size_t kEnough = 4;         // Of a group, to go by it and no wider one.
constexpr std::size_t kArrivals = 1'000;   // Remembered.
constexpr std::size_t kNewcomers = 2'000;  // Imagined at most.
constexpr int kLevels = 4;
constexpr int kUsersWord = 2;  // Comes before this level.
constexpr double kWordSigma = 0.6;

Duration scaled(Duration duration, double factor) {
  const double us = static_cast<double>(duration.us()) * factor;
  const auto most = static_cast<double>(kLongestDuration.us());
  return Duration::micros(static_cast<std::int64_t>(std::clamp(us, 1.0, most)));
}

}  // namespace

Guesses::Key Guesses::key_at(const JobSpec& spec, int level) {
  const std::int64_t user = level <= 1 ? spec.user.index() : -1;
  const std::int64_t name = level <= 0 ? spec.name.index() : -1;
  const std::int64_t size = level <= 2 ? spec.gpus : -1;
  return {user, name, size};
}

const Guesses::Record* Guesses::record_at(const JobSpec& spec, int level) const {
  const auto found = records_.find(key_at(spec, level));
  return found == records_.end() ? nullptr : &found->second;
}

void Guesses::came(Instant at, const JobSpec& spec) {
  arrivals_.push_back({at, spec});
  if (arrivals_.size() > kArrivals) arrivals_.pop_front();
}

void Guesses::learn(const JobSpec& spec, Duration work) {
  for (int level = 0; level < kLevels; ++level) {
    Record& record = records_[key_at(spec, level)];
    if (record.latest.size() < kRemembered) {
      record.latest.push_back(work);
    } else {
      record.latest[record.next] = work;
      record.next = (record.next + 1) % kRemembered;
    }
  }
}

Duration Guesses::left(const JobSpec& spec, Duration done, Random& random) const {
  for (int level = 0; level < kLevels; ++level) {
    if (level == kUsersWord && spec.estimate > done) {
      const Duration word = scaled(spec.estimate, portable_exp(kWordSigma * random.normal()));
      if (word > done) return word - done;
    }
    const Record* record = record_at(spec, level);
    if (record == nullptr || (record->latest.size() < kEnough && level + 1 < kLevels)) continue;
    // Those that took longer, counted first so that each is as likely.
    const auto longer = [&](Duration work) { return work > done; };
    const auto count = std::count_if(record->latest.begin(), record->latest.end(), longer);
    if (count == 0) continue;
    std::uint64_t wanted = random.below(static_cast<std::uint64_t>(count));
    for (const Duration work : record->latest) {
      if (longer(work) && wanted-- == 0) return work - done;
    }
  }
  return scaled(std::max(done, Duration::seconds(60)), random.exponential(1));
}

std::vector<Duration> Guesses::left_of_all(const Engine& engine, Instant now,
                                           Random& random) const {
  const State& state = engine.state();
  const View view(state, now);
  std::vector<Duration> all(state.jobs.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Job& job = state.jobs[JobId(i)];
    if (!is_over(job.state)) all[i] = left(job.spec, view.facts(JobId(i)).work_done, random);
  }
  return all;
}

std::vector<Newcomer> Guesses::newcomers(Instant now, Instant until, Random& random) const {
  std::vector<Newcomer> all;
  if (arrivals_.size() < kEnough) return all;
  const Duration seen = now - arrivals_.front().at;
  const double mean = seen.in_seconds() / static_cast<double>(arrivals_.size());
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
