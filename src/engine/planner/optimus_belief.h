#pragma once

// Optimus' estimates from job reports and from short trial runs of lone jobs: the speed of each
// profile by number of workers, and the remaining work of each job.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/core/event.h"
#include "engine/fit/loss_curve.h"

namespace muster {

class OptimusBelief {
 public:
  OptimusBelief(const ConvergenceRule& rule, std::size_t sorts) : rule_(rule), sorts_(sorts) {}

  // Adds the result of a trial run. Impossible numbers are ignored.
  void learn(const TypeMeasured& trial);
  // Adds a report of a job with this profile on `gpus` GPUs. Losses are used only for elastic jobs.
  // Impossible numbers are ignored.
  void learn(const JobReported& report, Instant now, ProfileId sort, std::int32_t gpus,
             bool elastic);
  void forget(JobId job);

  // Steps per second by number of workers, from 1 to at least `most`; [0] is unused. All are above
  // zero and finite. The reference stays valid; the numbers stay valid until the next learn().
  //
  // The curve is fitted to the mean per number of workers. With fewer than five different numbers
  // it cannot be fitted; then the speed is assumed proportional to the workers.
  const std::vector<double>& speeds(ProfileId sort, std::int32_t most);

  // Steps until the job converges; always finite. If its losses do not predict this, the rule's
  // `unknown` epochs. So a job that never converges always has the same, moderate amount of work
  // left.
  double remaining_steps(JobId job, ProfileId sort);

  // True if there are too few losses for a reliable curve.
  bool is_early(JobId job) const;

 private:
  struct Mean {
    double sum = 0;
    double count = 0;
    double fitted = 0;  // Value at the last fit of the speeds.
    double value() const { return sum / count; }
  };
  struct Sort {
    std::map<std::int32_t, Mean> measured;  // Steps per second, by workers.
    std::vector<double> speeds;
    bool stale = true;    // `speeds` must be fitted again.
    Mean steps_per_pass;  // Steps per training epoch; each job counts once.
  };
  struct LossHistory {
    Epoch epoch = 0;  // Lease epoch of the last report; 0: none yet.
    Instant at;
    double steps = 0;
    double passes = 0;
    std::vector<LossPoint> losses;
    std::int32_t stride = 1;       // Every stride-th loss is kept.
    std::int32_t passed_over = 0;  // Losses skipped since the last kept one.
    std::int32_t seen = 0;         // Total number of losses.
    std::int32_t fit_next = 3;     // Value of `seen` at which the curve is fitted next.
    std::optional<LossCurve> curve;
  };
  void measure(Sort& sort, std::int32_t workers, double steps_per_second);
  static void add_loss(LossHistory& story, LossPoint point);
  static void fit_speeds(Sort& sort, std::size_t size);
  double pass_length(const Sort& sort) const;

  ConvergenceRule rule_;
  IdVector<ProfileId, Sort> sorts_;
  IdVector<JobId, LossHistory> loss_histories_;
};

}  // namespace muster
