#include "study/analyze/use_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/types/random.h"
#include "workload/history/held_index.h"

namespace muster {

namespace {

// All figures are those of the Philly study, secondhand. [recalled]: from memory. [recalled+]: from
// memory, and close to the plots of the public notebook. [fig]: read from these plots.

constexpr std::array<double, 4> kStudySizes = {1, 4, 8, 16};  // GPUs: columns of the next tables.
using BySize = std::array<double, kStudySizes.size()>;

// Mean utilization in percent [recalled+], by Status; the last row is that of all jobs.
constexpr std::array<BySize, 4> kMeans = {{{53.51, 51.13, 51.09, 44.88},
                                           {37.02, 34.39, 60.63, 36.98},
                                           {62.82, 50.95, 64.34, 39.02},
                                           {52.38, 45.18, 58.99, 40.39}}};
// Share of minutes at about 0% [fig]; that of all jobs is the mean of the rows above.
constexpr std::array<BySize, 4> kIdle = {{{0.29, 0.27, 0.20, 0.26},
                                          {0.47, 0.44, 0.22, 0.42},
                                          {0.24, 0.22, 0.21, 0.34},
                                          {0.33, 0.31, 0.21, 0.34}}};
// Jobs with 16 GPUs on 2, 4 and 8 nodes [recalled].
constexpr double kOn2 = 43.66;
constexpr double kOn4 = 40.94;
constexpr double kOn8 = 28.56;
// ResNet-50 on two GPUs [recalled]: on one node; on two; the same next to other jobs; the same next
// to other jobs that are spread, too.
constexpr double kSameNode = 57.7;
constexpr double kTwoNodes = 49.6;
constexpr double kNextToOthers = 37.5;
constexpr double kNextToSpread = 36.5;

// Loss of a gang next to other jobs, by GPUs per node. In the study, such a job with 8 GPUs per
// node has both nodes to itself.
struct LossPoint {
  double gpus_per_node;
  double loss;
};
constexpr std::array<LossPoint, 4> kLosses = {
    {{1, 1 - kNextToOthers / kSameNode}, {2, 1 - kOn8 / kOn2}, {4, 1 - kOn4 / kOn2}, {8, 0}}};
// Factors of this loss without other jobs, and next to other spread jobs.
constexpr double kLossAlone = (kSameNode - kTwoNodes) / (kSameNode - kNextToOthers);
constexpr double kLossNextToSpread = (kSameNode - kNextToSpread) / (kSameNode - kNextToOthers);

// Interpolates linearly in the logarithm of the number of GPUs.
double by_size(const BySize& values, std::int32_t gpus) {
  const double size = std::clamp<double>(gpus, kStudySizes.front(), kStudySizes.back());
  std::size_t i = 1;
  while (kStudySizes[i] < size) ++i;
  const double part =
      portable_log(size / kStudySizes[i - 1]) / portable_log(kStudySizes[i] / kStudySizes[i - 1]);
  return values[i - 1] + part * (values[i] - values[i - 1]);
}

double base_of(const UseConditions& conditions) {
  if (conditions.stated < 1) return 100 * conditions.stated;
  BySize means = kMeans[static_cast<std::size_t>(conditions.status)];
  // The mean of 16 GPUs includes all placements; the base is that of two nodes.
  means.back() *= kOn2 / kMeans.back().back();
  return by_size(means, conditions.gpus);
}

double loss_of(const UseConditions& conditions) {
  if (conditions.nodes <= 1) return 0;
  const double each = std::clamp(static_cast<double>(conditions.gpus) / conditions.nodes,
                                 kLosses.front().gpus_per_node, kLosses.back().gpus_per_node);
  std::size_t i = 1;
  while (kLosses[i].gpus_per_node < each) ++i;
  const LossPoint& a = kLosses[i - 1];
  const LossPoint& b = kLosses[i];
  const double loss =
      a.loss + (each - a.gpus_per_node) / (b.gpus_per_node - a.gpus_per_node) * (b.loss - a.loss);
  switch (conditions.company) {
    case Company::kAlone:
      return loss * kLossAlone;
    case Company::kOthers:
      break;
    case Company::kSpreadOthers:
      return loss * kLossNextToSpread;
  }
  return loss;
}

// GPU minutes as real numbers: leases last fractions of minutes.
struct RealHistogram {
  std::array<double, kUseBins> minutes = {};
  double sum = 0;  // Percent times minutes.

  void add(const UseConditions& conditions, double gpu_minutes);
  UseHistogram rounded() const;
};

void RealHistogram::add(const UseConditions& conditions, double gpu_minutes) {
  const double mean = modeled_use(conditions);
  const double idle = std::min(modeled_idle(conditions), 1 - mean / 100);
  sum += gpu_minutes * mean;
  minutes[0] += gpu_minutes * idle;
  const double busy = mean / (1 - idle);  // Mean of the other minutes, at most 100.
  const double high = std::min(100.0, 2 * busy);
  const double low = 2 * busy - high;
  const double rest = gpu_minutes * (1 - idle);
  if (high - low < 1) {
    minutes[static_cast<std::size_t>(busy)] += rest;
    return;
  }
  for (auto i = static_cast<std::size_t>(low); i < kUseBins; ++i) {
    const auto bin = static_cast<double>(i);
    const double overlap = std::min(bin + 1, high) - std::max(bin, low);
    if (overlap > 0) minutes[i] += rest * overlap / (high - low);
  }
}

UseHistogram RealHistogram::rounded() const {
  UseHistogram result;
  double exact = 0;  // Rounds the sums up to each bin, so that the total is rounded once.
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < kUseBins; ++i) {
    exact += minutes[i];
    const auto upto = static_cast<std::uint64_t>(std::llround(exact));
    result.minutes[i] = upto - before;
    before = upto;
  }
  if (exact <= 0) return result;
  result.sum = std::llround(sum / exact * static_cast<double>(before) * kPercent);
  return result;
}

constexpr std::size_t kCompanies = 3;
using Times = std::array<Duration, kCompanies>;  // By Company.

// Computes how long each spread attempt ran in each company.
class CompanyClock {
 public:
  explicit CompanyClock(const History& history)
      : history_(history),
        neighbors_(history.nodes.size()),
        since_(history.attempts.size()),
        company_(history.attempts.size(), Company::kAlone),
        times_(history.attempts.size()) {
    for (std::size_t i = 0; i < history.attempts.size(); ++i) {
      const Attempt& attempt = history.attempts[i];
      if (!counts(attempt)) continue;
      changes_.push_back({attempt.end, false, i});
      changes_.push_back({attempt.start, true, i});
    }
    std::sort(changes_.begin(), changes_.end());
    for (const Change& change : changes_) apply(change);
  }

  static bool counts(const Attempt& attempt) {
    return attempt.host_count > 0 && attempt.start != Instant::never() &&
           attempt.end != Instant::never() && attempt.start < attempt.end;
  }
  const Times& of(std::size_t attempt) const { return times_[attempt]; }

 private:
  using Change = std::tuple<Instant, bool, std::size_t>;  // Time, begins, attempt: ends come first.

  void apply(const Change& change) {
    const auto [now, begins, index] = change;
    touched_.clear();
    if (begins) {
      Placement placement;
      for (const HostShare& share : history_.hosts_of(history_.attempts[index])) {
        placement.push_back({NodeId(share.node), share.gpus, 0, 0, 0});
      }
      since_[index] = now;
      neighbors_.arrive(JobId(index), placement, touched_);
    } else {
      settle(index, now);
      neighbors_.leave(JobId(index), touched_);
    }
    for (const JobId job : touched_) {
      settle(job.index(), now);
      company_[job.index()] = neighbors_.company(job);
    }
  }

  void settle(std::size_t index, Instant now) {
    times_[index][static_cast<std::size_t>(company_[index])] += now - since_[index];
    since_[index] = now;
  }

  const History& history_;
  Neighbors neighbors_;
  std::vector<Change> changes_;
  std::vector<JobId> touched_;
  std::vector<Instant> since_;
  std::vector<Company> company_;
  std::vector<Times> times_;
};

double stated_use(const History& history, const PastJob& job, const ProfileTable* profiles) {
  if (profiles == nullptr || job.model == 0) return 1;
  return (*profiles)[profiles->find(history.models[job.model])].gpu_use();
}

std::int32_t held_gpus(const History& history, const Attempt& attempt) {
  std::int32_t gpus = 0;
  for (const HostShare& share : history.hosts_of(attempt)) gpus += std::popcount(share.gpus);
  return gpus;
}

// The rows of UseStudy::pairs.
std::size_t pair_row(const UseConditions& conditions) {
  return conditions.nodes == 1 ? 0 : 1 + static_cast<std::size_t>(conditions.company);
}

}  // namespace

double modeled_use(const UseConditions& conditions) {
  return base_of(conditions) * (1 - loss_of(conditions));
}

double modeled_idle(const UseConditions& conditions) {
  return by_size(kIdle[static_cast<std::size_t>(conditions.status)], conditions.gpus);
}

UseStudy model_use(const History& history, const ProfileTable* profiles) {
  const CompanyClock clock(history);
  std::map<std::tuple<std::int32_t, std::int32_t, Status, bool>, RealHistogram> cells;
  std::array<RealHistogram, kPairRows> pairs;
  for (const PastJob& job : history.jobs) {
    const double stated = stated_use(history, job, profiles);
    for (std::size_t i = job.attempts; i < job.attempts + job.attempt_count; ++i) {
      const Attempt& attempt = history.attempts[i];
      const std::int32_t gpus = held_gpus(history, attempt);
      if (!CompanyClock::counts(attempt) || gpus == 0) continue;
      const auto nodes = static_cast<std::int32_t>(attempt.host_count);
      RealHistogram& cell = cells[{job.gpus, nodes, job.status, has_all_gpus(history, attempt)}];
      for (std::size_t c = 0; c < kCompanies; ++c) {
        const Duration time = clock.of(i)[c];
        if (time == Duration()) continue;
        const UseConditions conditions{gpus, nodes, job.status, static_cast<Company>(c), stated};
        const double minutes = time.in_seconds() / 60 * gpus;
        cell.add(conditions, minutes);
        if (job.gpus == 2 && gpus == 2) pairs[pair_row(conditions)].add(conditions, minutes);
      }
    }
  }
  UseStudy study;
  study.modeled = true;
  for (const auto& [key, use] : cells) {
    const auto& [gpus, nodes, status, dedicated] = key;
    study.gpus.push_back({gpus, nodes, status, dedicated, use.rounded()});
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) study.pairs[i] = pairs[i].rounded();
  return study;
}

}  // namespace muster
