#include "sim/forecast/run_time_model.h"

#include <algorithm>
#include <cmath>

namespace muster {

namespace {

constexpr double kPriorMean = 6.4;    // exp(6.4 s) is 10 minutes; the first jobs override it.
constexpr double kMemory = 64;        // Jobs that a group remembers.
constexpr double kDriftMemory = 120;  // Jobs over which a common change is measured.
constexpr std::size_t kResiduals = 2'000;
// Residuals before there are any: quantiles of a normal distribution.
constexpr std::array kFirstResiduals = {-1.5, -1.1, -0.8, -0.6, -0.4, -0.25, -0.1, 0.0,
                                        0.1,  0.25, 0.4,  0.6,  0.8,  1.1,   1.5};
constexpr double kEstimateVariance = 0.36;  // Variance of the logarithm of work per estimate.
constexpr std::size_t kOwnJobs = 128;       // Jobs of an innermost group that are kept.
constexpr double kOwnJobsEnough = 8;  // With this many of them, half of the samples are from them.
constexpr double kBeyondLast = 0.1;   // Distance from the last value to its limit.
// Shorter work counts as this: the work of a job on few CPUs can be far below its run time.
constexpr double kMinSeconds = 1e-3;
constexpr double kMinVariance = 0.01;
constexpr double kMaxVariance = 9;

double log_seconds(Duration work) { return portable_log(std::max(work.in_seconds(), kMinSeconds)); }

Duration of_log(double value) {
  const double most = kLongestDuration.in_seconds();
  const double seconds = value > 30 ? most : std::min(portable_exp(value), most);
  return Duration::micros(static_cast<std::int64_t>(seconds * 1e6) + 1);
}

}  // namespace

RunTimeModel::Key RunTimeModel::key_at(const JobSpec& spec, int level) {
  return {level >= 1 ? std::int64_t{spec.user.index()} : -1,
          level >= 2 ? std::int64_t{spec.name.index()} : -1,
          level >= 3 ? std::int64_t{spec.gpus} : -1};
}

RunTimeModel::Belief RunTimeModel::combine(const Belief& wider, const JobSpec& spec,
                                           int level) const {
  const auto at = static_cast<std::size_t>(level);
  Belief prior = {wider.mean, wider.variance + apart_[at]};
  if (level == 2 && spec.estimate > Duration()) {
    prior = {log_seconds(spec.estimate), kEstimateVariance};
  }
  const auto found = groups_[at].find(key_at(spec, level));
  if (found == groups_[at].end()) return prior;
  const Group& group = found->second;
  const double precision = 1 / prior.variance + group.precision;
  return {(prior.mean / prior.variance + group.weighted) / precision, 1 / precision};
}

RunTimeModel::Belief RunTimeModel::belief(const JobSpec& spec, int level) const {
  Belief now = {kPriorMean, 0};
  for (int i = 0; i <= level; ++i) now = combine(now, spec, i);
  return now;
}

// Updates what the next wider group received from this one.
void RunTimeModel::send(const Key& key, int level) {
  const auto at = static_cast<std::size_t>(level);
  Group& group = groups_[at][key];
  if (level == kLevels - 1) {
    group.precision = group.count / noise_;
    group.weighted = group.sum / noise_;
  }
  if (level == 0) return;
  const double mean = group.weighted / group.precision;
  const double precision = 1 / (apart_[at] + 1 / group.precision);
  const auto& [user, name, size] = key;
  const Key wider = {level > 1 ? user : -1, level > 2 ? name : -1, -1};
  Group& parent = groups_[at - 1][wider];
  parent.precision += precision - group.sent_precision;
  parent.weighted += precision * mean - group.sent_weighted;
  group.sent_precision = precision;
  group.sent_weighted = precision * mean;
}

void RunTimeModel::Values::add(double value, std::size_t kept) {
  latest.push_back(value);
  sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), value), value);
  if (latest.size() <= kept) return;
  sorted.erase(std::lower_bound(sorted.begin(), sorted.end(), latest.front()));
  latest.pop_front();
}

std::optional<double> RunTimeModel::Values::above(double least, double part) const {
  const auto first = std::upper_bound(sorted.begin(), sorted.end(), least);
  const std::ptrdiff_t count = sorted.end() - first;
  if (count == 0) return std::nullopt;
  const double at = std::max(part * static_cast<double>(count) - 0.5, 0.0);
  const auto low = std::min(static_cast<std::ptrdiff_t>(at), count - 1);
  const double next = low + 1 < count ? first[low + 1] : first[low] + kBeyondLast;
  return first[low] + (next - first[low]) * (at - static_cast<double>(low));
}

RunTimeModel::RunTimeModel() {
  for (const double residual : kFirstResiduals) residuals_.add(residual, kResiduals);
}

void RunTimeModel::learn(const JobSpec& spec, Duration work) {
  const double value = log_seconds(work);
  const Belief before = belief(spec, kLevels - 1);
  const double error = value - before.mean;
  // The error also contains that of the mean.
  const double residual = (error - drift_) / std::sqrt(1 + before.variance / noise_);
  residuals_.add(residual, kResiduals);
  own_[key_at(spec, kLevels - 1)].add(value, kOwnJobs);
  drift_ += (error / (1 + before.variance / noise_) - drift_) / kDriftMemory;

  Group& group = groups_[kLevels - 1][key_at(spec, kLevels - 1)];
  const double keep = 1 - 1 / kMemory;
  group.count = group.count * keep + 1;
  group.sum = group.sum * keep + value;
  for (int level = kLevels - 1; level >= 0; --level) send(key_at(spec, level), level);
  ++learned_;
  const bool power = (learned_ & (learned_ - 1)) == 0;
  if (learned_ % 256 == 0 || (power && learned_ >= 8)) refit();
}

// Estimates the variances by the method of moments, from the innermost level outwards.
void RunTimeModel::refit() {
  double squares = 0;
  for (const double residual : residuals_.latest) squares += residual * residual;
  noise_ = std::clamp(squares / static_cast<double>(residuals_.latest.size()), kMinVariance,
                      kMaxVariance);
  for (int level = kLevels - 1; level > 0; --level) {
    const auto at = static_cast<std::size_t>(level);
    for (const auto& [key, group] : groups_[at]) send(key, level);
    double sum = 0;
    double weights = 0;
    for (const auto& [key, group] : groups_[at]) {
      const auto& [user, name, size] = key;
      const Key wider = {level > 1 ? user : -1, level > 2 ? name : -1, -1};
      const Group& parent = groups_[at - 1][wider];
      const double share = group.sent_precision / parent.precision;
      if (share > 0.9) continue;  // Nearly the only member: it has no distance.
      const double distance = group.weighted / group.precision - parent.weighted / parent.precision;
      const double weight = group.sent_precision * group.sent_precision;
      sum += weight * (distance * distance / (1 - share) - 1 / group.precision);
      weights += weight;
    }
    if (weights > 0) apart_[at] = std::clamp(sum / weights, kMinVariance, kMaxVariance);
    for (const auto& [key, group] : groups_[at]) send(key, level);
  }
}

double RunTimeModel::work_above(const Key& group, double mean, double shift, double least,
                                double part, double choice) const {
  const auto own = own_.find(group);
  if (own != own_.end()) {
    const auto count = static_cast<double>(own->second.sorted.size());
    if (choice < count / (count + kOwnJobsEnough)) {
      const std::optional<double> value = own->second.above(least - shift, part);
      if (value) return *value + shift;
    }
  }
  const std::optional<double> residual = residuals_.above(least - mean, part);
  if (residual) return mean + *residual;
  // Beyond all data, the work left is about as long as the work done.
  return least + portable_log(1 - portable_log(std::max(1 - part, 1e-9)));
}

Duration RunTimeModel::likely(const JobSpec& spec, Duration done) const {
  const Key key = key_at(spec, kLevels - 1);
  const double mean = belief(spec, kLevels - 1).mean + drift_;
  const double least = done > Duration() ? log_seconds(done) : -1e3;
  return std::max(of_log(work_above(key, mean, 0, least, 0.5, 0.5)) - done, Duration::micros(1));
}

double RunTimeModel::Sample::mean(const JobSpec& spec, int level) {
  const auto at = static_cast<std::size_t>(level);
  const Key key = key_at(spec, level);
  const auto found = means_[at].find(key);
  if (found != means_[at].end()) return found->second;
  Belief wider = {kPriorMean, 0};
  if (level > 0) wider.mean = mean(spec, level - 1);
  const Belief own = model_.combine(wider, spec, level);
  const double sample = own.mean + std::sqrt(own.variance) * random_.normal();
  means_[at].emplace(key, sample);
  return sample;
}

Duration RunTimeModel::Sample::left(const JobSpec& spec, Duration done) {
  const Key key = key_at(spec, kLevels - 1);
  const double center = mean(spec, kLevels - 1) + model_.drift_;
  const double shift = center - model_.drift_ - expected(spec, key);
  const double least = done > Duration() ? log_seconds(done) : -1e3;
  const double part = random_.uniform();
  const double choice = random_.uniform();
  const double value = model_.work_above(key, center, shift, least, part, choice);
  return std::max(of_log(value) - done, Duration::micros(1));
}

double RunTimeModel::Sample::expected(const JobSpec& spec, const Key& key) {
  const auto found = expected_.find(key);
  if (found != expected_.end()) return found->second;
  return expected_.emplace(key, model_.belief(spec, kLevels - 1).mean).first->second;
}

}  // namespace muster
