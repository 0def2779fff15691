#pragma once

// For the tests of Optimus' scheduler: jobs and how they train in simulated time.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types/check.h"
#include "engine/core/engine.h"
#include "engine/fit/loss_curve.h"
#include "engine/model/profile.h"

namespace muster {

// Actual properties of a job, unknown to the planner.
struct Life {
  double passes = 40;                    // Training epochs until it ends.
  double pass_steps = 360;               // Steps per training epoch.
  LossCurve loss = {0.2, 1, 0.1, 0, 0};  // Converges after about 30 epochs.
  Scaling scaling = {1, 0, 0};
  bool reports = true;

  double steps_per_second(int gpus) const {
    const auto time = [&](double w) {
      return scaling.compute / w + scaling.fixed + scaling.each * w;
    };
    return time(1) / time(gpus);
  }
};

// A job on 1 to `most` GPUs.
inline JobSpec elastic(std::int32_t most, int tenant = 0) {
  JobSpec spec;
  spec.gpus = 1;
  spec.fewest = 1;
  spec.most = most;
  spec.tenant = TenantId(tenant);
  return spec;
}
inline JobSpec gang(std::int32_t gpus, int tenant = 0) {
  JobSpec spec;
  spec.gpus = gpus;
  spec.tenant = TenantId(tenant);
  return spec;
}

// The profile of all these jobs: one without data.
inline ProfileTable one_profile() {
  ProfileTable table;
  MUSTER_CHECK(table.add(Profile::unknown("a")).ok());
  return table;
}

// The training of one job.
struct OptimusTraining {
  Life life;
  double steps = 0;
  int gpus = 0;  // 0: it does not run.
  int starts = 0;

  double total() const { return life.passes * life.pass_steps; }
  double rate() const { return gpus == 0 ? 0 : life.steps_per_second(gpus); }
  void advance(Duration time) { steps = std::min(total(), steps + rate() * time.in_seconds()); }
  // When it finishes if it keeps its GPUs. REQUIRES: gpus > 0.
  Instant end(Instant now) const {
    const double seconds = (total() - steps) / rate();
    return now + Duration::micros(static_cast<std::int64_t>(seconds * 1e6) + 1);
  }
  JobReported report(JobId job, Epoch epoch) const {
    JobReported said;
    said.job = job;
    said.epoch = epoch;
    said.speed = 1;
    said.steps = steps;
    said.passes = steps / life.pass_steps;
    said.loss = life.loss.b0 > 0 ? life.loss.at(said.passes) : 2;
    return said;
  }
};

// The trainings of all jobs, by job.
class OptimusTrainings {
 public:
  struct Progress {
    int job = 0;
    bool over = false;
  };

  void add(const Life& life) { trainings_.push_back({life}); }
  OptimusTraining& operator[](int job) { return trainings_[static_cast<std::size_t>(job)]; }
  const OptimusTraining& operator[](int job) const {
    return trainings_[static_cast<std::size_t>(job)];
  }
  // When the first of them finishes; never() if none has GPUs.
  Instant first_end(Instant now) const {
    Instant first = Instant::never();
    for (const OptimusTraining& each : trainings_) {
      if (each.gpus > 0) first = std::min(first, each.end(now));
    }
    return first;
  }
  // Advances all that have GPUs, and returns those.
  std::vector<Progress> advance(Instant from, Instant to) {
    std::vector<Progress> advanced;
    for (std::size_t i = 0; i < trainings_.size(); ++i) {
      OptimusTraining& each = trainings_[i];
      if (each.gpus == 0) continue;
      advanced.push_back({static_cast<int>(i), each.end(from) <= to});
      each.advance(to - from);
    }
    return advanced;
  }

 private:
  std::vector<OptimusTraining> trainings_;
};

}  // namespace muster
