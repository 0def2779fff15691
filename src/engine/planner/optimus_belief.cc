#include "engine/planner/optimus_belief.h"

#include <algorithm>
#include <cmath>

#include "engine/fit/speed_fit.h"

namespace muster {

namespace {

// Steps and passes beyond these are a mistake of whoever reports them.
constexpr double kMost = 1e12;
constexpr double kFastest = 1e9;  // Steps a second; slower than its inverse is none at all.

// A sort's speeds are fitted anew when some mean has moved by more than this part of itself.
constexpr double kNotable = 0.05;

// Believed of a sort of which nobody has reported a pass: six minutes of one GPU.
constexpr double kUsualPass = 360;

// Losses kept of a job; of a longer story every second one, then every fourth, and so on.
constexpr std::size_t kMostLosses = 48;
constexpr std::int32_t kFewLosses = 5;

bool is_sane(double value) { return value >= 0 && value <= kMost; }  // Not if it is no number.

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
  if (!stories_.contains(report.job)) stories_.resize(report.job.index() + 1);
  Story& story = stories_[report.job];
  Sort& sort = sorts_[sort_of];
  // Only what it did in one lease says how fast it is there.
  if (story.epoch == report.epoch && now > story.at) {
    measure(sort, gpus, (report.steps - story.steps) / (now - story.at).in_seconds());
  }
  if (story.passes == 0 && report.passes > 0 && is_sane(report.steps / report.passes)) {
    sort.steps_per_pass.sum += report.steps / report.passes;
    ++sort.steps_per_pass.count;
  }
  story.epoch = report.epoch;
  story.at = now;
  story.steps = report.steps;
  story.passes = report.passes;
  if (elastic && report.loss > 0) add_loss(story, {report.passes, report.loss});
}

void OptimusBelief::add_loss(Story& story, LossPoint point) {
  // A job that had to go back to an earlier checkpoint tells the same passes again.
  while (!story.losses.empty() && story.losses.back().epoch >= point.epoch) {
    story.losses.pop_back();
  }
  ++story.seen;
  if (++story.passed_over < story.stride) return;
  story.passed_over = 0;
  if (story.losses.size() == kMostLosses) {
    // The first stays: that the loss has converged is measured against it.
    for (std::size_t i = 0; i < kMostLosses / 2; ++i) story.losses[i] = story.losses[2 * i];
    story.losses.resize(kMostLosses / 2);
    story.stride *= 2;
  }
  story.losses.push_back(point);
}

void OptimusBelief::forget(JobId job) {
  if (stories_.contains(job)) stories_[job] = Story();
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
  if (points.empty()) one_worker = 1;  // As a step is defined.
  const Result<SpeedModel> model = fit_speed(Training::kSync, points);
  sort.speeds.assign(size, one_worker);
  for (std::size_t i = 1; i < size; ++i) {
    const auto workers = static_cast<int>(i);
    const double fitted = model.ok() ? model.value().speed(workers, workers) : one_worker * workers;
    sort.speeds[i] = std::clamp(fitted, 1 / kFastest, kMost);
  }
  sort.stale = false;
}

double OptimusBelief::pass_length(const Sort& sort) const {
  return sort.steps_per_pass.count > 0 ? sort.steps_per_pass.value() : kUsualPass;
}

double OptimusBelief::remaining_steps(JobId job, ProfileId sort) {
  if (!stories_.contains(job) || !(stories_[job].passes > 0)) {
    return rule_.unknown * pass_length(sorts_[sort]);
  }
  Story& story = stories_[job];
  if (story.seen >= story.fit_next) {
    const Result<LossCurve> fitted = fit_loss_curve(story.losses);
    story.curve = fitted.ok() ? std::optional(fitted.value()) : std::nullopt;
    // A fit costs more than all else: the next when a quarter more is known.
    story.fit_next = std::max(story.seen + 1, story.seen + story.seen / 4);
  }
  const Result<LossCurve> curve =
      story.curve ? Result<LossCurve>(*story.curve) : Error{"none was fitted"};
  return std::min(kMost, remaining_epochs(curve, story.passes, rule_) * story.steps / story.passes);
}

bool OptimusBelief::is_early(JobId job) const {
  return !stories_.contains(job) || stories_[job].seen < kFewLosses;
}

}  // namespace muster
