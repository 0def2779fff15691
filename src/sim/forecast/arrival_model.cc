#include "sim/forecast/arrival_model.h"

#include <algorithm>

namespace muster {

namespace {

constexpr std::size_t kEnoughArrivals = 4;  // With fewer arrivals, no future ones.
constexpr std::size_t kMaxHypothetical = 2'000;
constexpr Duration kSettled = Duration::seconds(3 * 3'600);  // Minimum span of the arrival rate.
constexpr double kMaxBeyond = 50;  // Arrivals end before this many times the observed span.
constexpr Duration kBlock = Duration::seconds(3'600);
constexpr Duration kDay = Duration::seconds(86'400);
constexpr double kJitter = 3'600;   // Seconds before or after the same time of day.
constexpr std::uint64_t kDays = 7;  // Days in the past that a block may repeat.

Duration seconds_long(double seconds) {
  return Duration::micros(static_cast<std::int64_t>(seconds * 1e6));
}

}  // namespace

void ArrivalModel::record(Instant at, const JobSpec& spec) {
  if (!began_) began_ = at;
  latest_.push_back({at, spec});
  if (latest_.size() > kRemembered) latest_.pop_front();
}

// Returns the start of the past block that the block at `block` repeats. REQUIRES: the history is
// longer than two blocks.
Instant ArrivalModel::source_of(Instant block, Instant now, Instant first, Random& random) const {
  const Instant last = now - kBlock;
  const std::int64_t back = (block - last).us() / kDay.us() + 1;
  Instant source = block - kDay * (back + static_cast<std::int64_t>(random.below(kDays)));
  while (source < first && source + kDay <= last) source = source + kDay;
  source = source + seconds_long(random.uniform(-kJitter, kJitter));
  if (source < first || source > last) {
    source = first + seconds_long(random.uniform() * (last - first).in_seconds());
  }
  return source;
}

std::vector<ArrivalModel::Arrival> ArrivalModel::draw(Instant now, Instant until,
                                                      Random& random) const {
  std::vector<Arrival> all;
  if (latest_.size() < kEnoughArrivals) return all;
  const Instant first = latest_.front().at;
  // A process that has lasted for a time lasts that long again with a chance of 50%, and k times as
  // long with 1 / (1 + k) (Gott 1993).
  const double chance = random.uniform();
  const double beyond = std::min(chance / (1 - chance), kMaxBeyond);
  until = std::min(until, now + seconds_long(beyond * (now - *began_).in_seconds() + 1));
  if (now - first < kSettled) return at_mean_rate(now, until, random);
  const auto before = [](const Arrival& arrival, Instant at) { return arrival.at < at; };
  for (Instant block = now; block < until && all.size() < kMaxHypothetical;
       block = block + kBlock) {
    const Instant source = source_of(block, now, first, random);
    auto at = std::lower_bound(latest_.begin(), latest_.end(), source, before);
    for (; at != latest_.end() && at->at < source + kBlock; ++at) {
      const Instant when = block + (at->at - source);
      if (when >= until) break;
      all.push_back({when, at->spec});
    }
  }
  return all;
}

std::vector<ArrivalModel::Arrival> ArrivalModel::at_mean_rate(Instant now, Instant until,
                                                              Random& random) const {
  std::vector<Arrival> all;
  const double mean = kSettled.in_seconds() / static_cast<double>(latest_.size());
  Instant at = now;
  while (all.size() < kMaxHypothetical) {
    at = at + seconds_long(random.exponential(mean));
    if (at >= until) break;
    all.push_back({at, latest_[random.below(latest_.size())].spec});
  }
  return all;
}

}  // namespace muster
