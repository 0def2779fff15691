#include "engine/planner/optimus_belief.h"

#include <algorithm>
#include <cmath>

#include "engine/fit/speed_fit.h"

namespace muster {

namespace {

// Larger numbers of steps or training epochs are reporting errors.
constexpr double kMax = 1e12;
constexpr double kFastest = 1e9;  // Steps per second; the minimum is its inverse.

// Speeds of a profile are fitted again when a mean changes by more than this fraction.
constexpr double kNotable = 0.05;

// Default steps per training epoch of a profile without reports: six minutes on one GPU.
constexpr double kUsualPass = 360;

// Maximum losses kept per job. Above that, every second one is kept, then every fourth, and so on.
constexpr std::size_t kMaxLosses = 48;
constexpr std::int32_t kFewLosses = 5;

bool is_sane(double value) { return value >= 0 && value <= kMax; }  // False for NaN.

}  // namespace

void OptimusBelief::learn(const TypeMeasured& trial) {
  if (!sorts_.contains(trial.profile) || trial.gpus < 1) return;
  measure(sorts_[trial.profile], trial.gpus, trial.steps_per_second);
}

void OptimusBelief::measure(Sort& sort, std::int32_t workers, double steps_per_second) {
  if (!(steps_per_second >= 1 / kFastest && steps_per_second <= kFastest)) return;
  Mean& mean = sort.measured[workers];
  mean.sum += steps_per_second;
  ++mean.count;
  if (std::fabs(mean.value() - mean.fitted) > kNotable * mean.fitted) sort.stale = true;
}

void OptimusBelief::learn(const JobReported& report, Instant now, ProfileId sort_of,
                          std::int32_t gpus, bool elastic) {
  if (!is_sane(report.steps) || !is_sane(report.passes) || !is_sane(report.loss)) return;
  if (!loss_histories_.contains(report.job)) loss_histories_.resize(report.job.index() + 1);
  LossHistory& history = loss_histories_[report.job];
  Sort& sort = sorts_[sort_of];
  // Only the steps within one lease measure the speed with these GPUs.
  if (history.epoch == report.epoch && now > history.at) {
    measure(sort, gpus, (report.steps - history.steps) / (now - history.at).in_seconds());
  }
  if (history.passes == 0 && report.passes > 0 && is_sane(report.steps / report.passes)) {
    sort.steps_per_pass.sum += report.steps / report.passes;
    ++sort.steps_per_pass.count;
  }
  history.epoch = report.epoch;
  history.at = now;
  history.steps = report.steps;
  history.passes = report.passes;
  if (elastic && report.loss > 0) add_loss(history, {report.passes, report.loss});
}

void OptimusBelief::add_loss(LossHistory& history, LossPoint point) {
  // A job that resumed from an earlier checkpoint reports the same epochs again.
  while (!history.losses.empty() && history.losses.back().epoch >= point.epoch) {
    history.losses.pop_back();
  }
  ++history.seen;
  if (++history.passed_over < history.stride) return;
  history.passed_over = 0;
  if (history.losses.size() == kMaxLosses) {
    // Keep the first: convergence is measured relative to it.
    for (std::size_t i = 0; i < kMaxLosses / 2; ++i) history.losses[i] = history.losses[2 * i];
    history.losses.resize(kMaxLosses / 2);
    history.stride *= 2;
  }
  history.losses.push_back(point);
}

void OptimusBelief::forget(JobId job) {
  if (loss_histories_.contains(job)) loss_histories_[job] = LossHistory();
}

const std::vector<double>& OptimusBelief::speeds(ProfileId sort_of, std::int32_t most) {
  Sort& sort = sorts_[sort_of];
  const std::size_t needed = static_cast<std::size_t>(most) + 1;
  if (sort.stale || sort.speeds.size() < needed) {
    fit_speeds(sort, std::max(needed, sort.speeds.size()));
  }
  return sort.speeds;
}

void OptimusBelief::fit_speeds(Sort& sort, std::size_t size) {
  std::vector<SpeedPoint> points;
  double one_worker = 0;
  for (auto& [workers, mean] : sort.measured) {
    mean.fitted = mean.value();
    points.push_back({workers, workers, 1, mean.fitted});
    one_worker += mean.fitted / workers / static_cast<double>(sort.measured.size());
  }
  if (points.empty()) one_worker = 1;  // By the definition of a step.
  const Result<SpeedModel> model = fit_speed(Training::kSync, points);
  sort.speeds.assign(size, one_worker);
  for (std::size_t i = 1; i < size; ++i) {
    const auto workers = static_cast<int>(i);
    const double fitted = model.ok() ? model.value().speed(workers, workers) : one_worker * workers;
    sort.speeds[i] = std::clamp(fitted, 1 / kFastest, kMax);
  }
  sort.stale = false;
}

double OptimusBelief::pass_length(const Sort& sort) const {
  return sort.steps_per_pass.count > 0 ? sort.steps_per_pass.value() : kUsualPass;
}

double OptimusBelief::remaining_steps(JobId job, ProfileId sort) {
  if (!loss_histories_.contains(job) || !(loss_histories_[job].passes > 0)) {
    return rule_.unknown * pass_length(sorts_[sort]);
  }
  LossHistory& history = loss_histories_[job];
  if (history.seen >= history.fit_next) {
    const Result<LossCurve> fitted = fit_loss_curve(history.losses);
    history.curve = fitted.ok() ? std::optional(fitted.value()) : std::nullopt;
    // A fit is expensive, so wait for a quarter more losses.
    history.fit_next = std::max(history.seen + 1, history.seen + history.seen / 4);
  }
  const Result<LossCurve> curve =
      history.curve ? Result<LossCurve>(*history.curve) : Error{"no curve"};
  return std::min(kMax,
                  remaining_epochs(curve, history.passes, rule_) * history.steps / history.passes);
}

bool OptimusBelief::is_early(JobId job) const {
  return !loss_histories_.contains(job) || loss_histories_[job].seen < kFewLosses;
}

}  // namespace muster
