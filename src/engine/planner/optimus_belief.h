#pragma once

// What Optimus believes of jobs, from what they report and from short trial runs alone: how fast
// each sort of job is with so many workers, and how much a job still has to do. A sort is all jobs
// of one profile.

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

  // Whoever reports numbers that cannot be is not believed: nothing changes.
  void learn(const TypeMeasured& trial);
  // A job of this sort that runs on so many GPUs. The losses of one that is not elastic are of no
  // use to anybody.
  void learn(const JobReported& report, Instant now, ProfileId sort, std::int32_t gpus,
             bool elastic);
  void forget(JobId job);

  // Steps a second by number of workers, from 1 to at least `most`; [0] means nothing. All above
  // zero and finite. The reference stays good, the numbers until something is learnt.
  //
  // Fitted to the mean of what was measured of each number. Where fewer than five numbers were, a
  // curve cannot be told: then twice the workers are believed to be twice as fast.
  const std::vector<double>& speeds(ProfileId sort, std::int32_t most);

  // Steps until the job will have converged; finite. Where its losses do not say, the rule's
  // `unknown` passes; so a job that never converges has always the same to do, neither little nor
  // without end.
  double remaining_steps(JobId job, ProfileId sort);

  // Too few losses were reported for the curve to be trusted.
  bool is_early(JobId job) const;

 private:
  struct Mean {
    double sum = 0;
    double count = 0;
    double fitted = 0;  // What it was when the speeds were last fitted.
    double value() const { return sum / count; }
  };
  struct Sort {
    std::map<std::int32_t, Mean> measured;  // Steps a second, by workers.
    std::vector<double> speeds;
    bool stale = true;    // `speeds` is no longer what was measured, or never was.
    Mean steps_per_pass;  // Of its jobs, each counted once.
  };
  struct Story {
    Epoch epoch = 0;  // Of the last report; 0: none yet.
    Instant at;
    double steps = 0;
    double passes = 0;
    std::vector<LossPoint> losses;
    std::int32_t stride = 1;  // Of so many losses one is kept.
    std::int32_t passed_over = 0;
    std::int32_t seen = 0;      // Losses in all.
    std::int32_t fit_next = 3;  // When so many were seen.
    std::optional<LossCurve> curve;
  };
  void measure(Sort& sort, std::int32_t workers, double steps_per_second);
  static void add_loss(Story& story, LossPoint point);
  static void fit_speeds(Sort& sort, std::size_t size);
  double pass_length(const Sort& sort) const;

  ConvergenceRule rule_;
  IdVector<ProfileId, Sort> sorts_;
  IdVector<JobId, Story> stories_;
};

}  // namespace muster
