#include "sim/run/noisy_reports.h"

#include <algorithm>

#include "engine/fit/loss_curve.h"

namespace muster {

namespace {

// For profiles without a loss curve, or with a loss that never falls.
constexpr double kPassesWithoutCurve = 50;

// Training epochs until the loss converges by Optimus' rule. At most the recorded ones.
double epochs_to_converge(const LossFacts& loss) {
  if (loss.points.empty()) {
    if (loss.b0 <= 0) return kPassesWithoutCurve;
    return remaining_epochs(exact_loss_curve(loss.b0, loss.b1, loss.b2), 0);
  }
  const ConvergenceRule rule;
  const double min_fall = rule.threshold * std::ranges::max(loss.points);
  int epoch = rule.window;
  while (epoch < loss.epochs && loss.at(epoch - rule.window) - loss.at(epoch) >= min_fall) ++epoch;
  return std::min<double>(epoch, loss.epochs);
}

}  // namespace

NoisyReports::NoisyReports(const ProfileTable& profiles, double noise, std::uint64_t seed)
    : profiles_(&profiles),
      noise_(noise),
      random_(Random(seed).fork("reports")),
      passes_(profiles.size()),
      tried_(profiles.size()) {}

double NoisyReports::blurred(double value) {
  return std::max(0.0, value * (1 + noise_ * random_.normal()));
}

// A job's work ends when its loss converges, so the loss curve determines the training epochs.
double NoisyReports::passes_in_all(ProfileId profile) {
  double& passes = passes_[profile];
  if (passes > 0) return passes;
  const std::optional<LossFacts>& loss = (*profiles_)[profile].loss();
  passes = loss ? epochs_to_converge(*loss) : kPassesWithoutCurve;
  return passes = std::max(passes, 1.0);
}

JobReported NoisyReports::report(const Progress& progress) {
  const Profile& profile = (*profiles_)[progress.profile];
  const double part =
      progress.work > Duration() ? progress.done.in_seconds() / progress.work.in_seconds() : 1;
  JobReported said;
  said.speed = blurred(progress.speed);
  said.steps = progress.done.in_seconds() * profile.steps_per_second(progress.gpus);
  said.passes = passes_in_all(progress.profile) * part;
  if (profile.loss()) said.loss = blurred(profile.loss()->at(said.passes));
  return said;
}

std::vector<TypeMeasured> NoisyReports::trials(ProfileId profile) {
  std::vector<TypeMeasured> trials;
  if (tried_[profile] != 0) return trials;
  tried_[profile] = 1;
  for (int i = 0; i < kTrialRuns; ++i) {
    TypeMeasured trial;
    trial.profile = profile;
    trial.gpus = static_cast<std::int32_t>(1 + random_.below(kMaxTrialGpus));
    trial.steps_per_second = blurred((*profiles_)[profile].steps_per_second(trial.gpus));
    trials.push_back(trial);
  }
  return trials;
}

}  // namespace muster
