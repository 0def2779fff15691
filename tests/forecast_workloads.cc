#include "forecast_workloads.h"

#include <algorithm>
#include <cmath>

namespace muster {

namespace {

constexpr double kDay = 86'400;
constexpr double kPi = 3.141592653589793;
constexpr double kMedian = 1'200;  // Seconds: the median run time of a median class.
constexpr std::uint64_t kNames = 3;
constexpr std::uint64_t kFirstArray = 1'000;  // Names from here on belong to one array each.
constexpr std::size_t kMaxArrivals = 2'000;
constexpr double kPast = 100 * kDay;

Duration micros(double seconds) {
  return Duration::micros(static_cast<std::int64_t>(std::min(seconds, kPast) * 1e6) + 1);
}

}  // namespace

const std::vector<ForecastWorkload>& forecast_workloads() {
  static const std::vector<ForecastWorkload> all = {
      {.name = "stationary", .jobs = 3'000, .load = 0.9},
      {.name = "day-night", .jobs = 3'000, .load = 0.8, .day = 0.9},
      {.name = "overload", .jobs = 2'500, .load = 1.2},
      {.name = "heavy-tails", .jobs = 3'000, .load = 0.8, .spread = 1.6, .users_apart = 0.5},
      {.name = "shift", .jobs = 3'000, .load = 0.6, .shift = 1.8},
      {.name = "bursts", .jobs = 3'000, .load = 0.75, .burst = 0.05},
      {.name = "few-users", .jobs = 2'500, .load = 0.9, .users = 3},
      {.name = "many-users", .jobs = 4'000, .load = 0.9, .users = 400},
      {.name = "arrays", .jobs = 4'000, .load = 0.8, .spread = 0.4, .array = 0.1},
      {.name = "cancellations", .jobs = 3'000, .load = 1.1, .cancelled = 0.3},
  };
  return all;
}

ForecastLaw::ForecastLaw(const ForecastWorkload& workload, std::uint64_t seed)
    : workload_(workload), seed_(seed) {
  std::vector<double> medians;
  for (std::size_t i = 0; i < workload.users * kNames; ++i) {
    JobSpec spec;
    spec.user = UserId(i / kNames);
    spec.name = NameId(i % kNames);
    medians.push_back(median(spec));
  }
  medians_ = std::move(medians);
  per_arrival_ = 1 + workload.burst * 29 + workload.array * 21.5;
  half_ = Instant::never();
  jobs_per_second_ = workload.load * kForecastGpus / mean_gpu_seconds() / per_arrival_;
  const double all = static_cast<double>(workload.jobs) / (jobs_per_second_ * per_arrival_);
  half_ = Instant() + micros(all / 2);
}

double ForecastLaw::mean_gpu_seconds() const {
  Random random(seed_);
  double sum = 0;
  constexpr int kDraws = 50'000;
  for (int i = 0; i < kDraws; ++i) {
    const JobSpec spec = draw_spec(random);
    sum += spec.gpus * draw_work(spec, Instant(), random).in_seconds();
  }
  return sum / kDraws;
}

JobSpec ForecastLaw::draw_spec(Random& random) const {
  JobSpec spec;
  // The first users submit most jobs.
  const double part = random.uniform() * random.uniform();
  spec.user = UserId(static_cast<std::uint64_t>(part * static_cast<double>(workload_.users)));
  spec.name = NameId(random.below(kNames));
  const double lot = random.uniform();
  spec.gpus = lot < 0.55 ? 1 : lot < 0.75 ? 2 : lot < 0.92 ? 4 : 8;
  return spec;
}

double ForecastLaw::median(const JobSpec& spec) const {
  const std::size_t row = spec.user.index() * kNames + spec.name.index();
  if (spec.name.index() < kNames && row < medians_.size()) return medians_[row];
  Random random(seed_ * 1'000'003 + spec.user.index() * 65'537 + spec.name.index());
  return kMedian * portable_exp(workload_.users_apart * random.normal());
}

Duration ForecastLaw::draw_work(const JobSpec& spec, Instant submitted, Random& random) const {
  const double factor = submitted >= half_ ? workload_.shift : 1;
  return micros(factor * median(spec) * portable_exp(workload_.spread * random.normal()));
}

Duration ForecastLaw::draw_patience(Random& random) const {
  if (workload_.cancelled == 0) return Duration::max();
  return micros(random.exponential(3'600 / workload_.cancelled));
}

std::vector<FutureArrival> ForecastLaw::draw_jobs(Instant from, Instant until, std::size_t limit,
                                                  Random& random, std::uint64_t& next_array) const {
  std::vector<FutureArrival> all;
  double at = from.in_seconds();
  while (all.size() < limit) {
    at += random.exponential(1 / (jobs_per_second_ * (1 + workload_.day)));
    const double rate = 1 + workload_.day * std::sin(2 * kPi * at / kDay);
    if (random.uniform() * (1 + workload_.day) > rate) continue;
    Instant submit = Instant() + Duration::micros(static_cast<std::int64_t>(at * 1e6));
    if (submit >= until) break;
    JobSpec spec = draw_spec(random);
    std::uint64_t count = 1;
    const double lot = random.uniform();
    const bool array = lot < workload_.array;
    if (array) {
      count = 5 + random.below(36);
      spec.name = NameId(next_array++);
      spec.gpus = std::min(spec.gpus, 2);
    } else if (lot < workload_.array + workload_.burst) {
      count = 10 + random.below(41);
    }
    for (; count > 0 && all.size() < limit; --count) {
      all.push_back({submit, spec, draw_work(spec, submit, random), draw_patience(random)});
      submit = submit + Duration::seconds(1);
      if (array) continue;
      spec = draw_spec(random);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const FutureArrival& a, const FutureArrival& b) { return a.at < b.at; });
  return all;
}

std::vector<FutureArrival> ForecastLaw::history() {
  Random random(seed_ + 17);
  std::uint64_t next_array = kFirstArray;
  return draw_jobs(Instant(), kHorizon, workload_.jobs, random, next_array);
}

Future ForecastLaw::draw(const Engine& engine, Instant now, Instant until, Random& random) const {
  constexpr int kTries = 200;
  const State& state = engine.state();
  const View view(state, now);
  Future future;
  future.left.resize(state.jobs.size());
  for (std::size_t i = 0; i < future.left.size(); ++i) {
    const Job& job = state.jobs[JobId(i)];
    if (is_over(job.state)) continue;
    const Duration done = view.facts(JobId(i)).work_done;
    Duration work;
    for (int tries = 0; tries < kTries && work <= done; ++tries) {
      work = draw_work(job.spec, job.submitted, random);
    }
    future.left[i] = work > done ? work - done : Duration::seconds(60);
  }
  std::uint64_t next_array = kFirstArray * 1'000;
  future.arrivals = draw_jobs(now, until, kMaxArrivals, random, next_array);
  future.cancel_rate = workload_.cancelled / 3'600;
  return future;
}

}  // namespace muster
