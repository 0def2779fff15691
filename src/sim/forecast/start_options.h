#pragma once

// Finds the ways to start a waiting job sooner, for explain(). Each option is tried on a copy of
// the engine. Only wait_explanation.cc uses this.

#include <utility>
#include <vector>

#include "sim/forecast/wait_explanation.h"

namespace muster {

std::vector<Duration> work_left(const Engine& engine, Instant now, const WhyOptions& options);

// Returns the event that a job with a lease has completed.
Event end_of(const Engine& engine, JobId job);

// Returns true if the job would run after it is cancelled and submitted again with `spec`. `begun`
// is used as in runs_after().
bool runs_again(const Engine& engine, Instant now, JobId job, const JobSpec& spec,
                Begun* begun = nullptr);
// The same, with only the estimate changed.
bool runs_if_shorter(const Engine& engine, Instant now, JobId job, Duration estimate,
                     Begun* begun = nullptr);

class StartOptions {
 public:
  StartOptions(const Engine& engine, Instant now, JobId job, const WhyOptions& options,
               Constraint constraint);

  // All jobs that hold GPUs of a type that this job can use, sorted by estimated end.
  const std::vector<Holder>& holders() const { return holders_; }
  std::vector<StartOption> find(const SchedulingRules& rules) const;

 private:
  // Sets way.begun.
  bool runs_with(const JobSpec& spec, StartOption& way) const {
    way.begun = {};
    return runs_again(engine_, now_, job_, spec, &way.begun);
  }
  // Appends the option if the job runs with this request.
  bool add_if_it_runs(const JobSpec& spec, StartOption way, std::vector<StartOption>& ways) const {
    if (!runs_with(spec, way)) return false;
    ways.push_back(std::move(way));
    return true;
  }
  void fewer_gpus(std::vector<StartOption>& ways) const;
  void less_beside(std::vector<StartOption>& ways, StartOption::Kind kind) const;
  void wider_spread(std::vector<StartOption>& ways) const;
  void higher_priority(std::vector<StartOption>& ways) const;
  void other_tenant(std::vector<StartOption>& ways) const;
  void shorter(std::vector<StartOption>& ways) const;
  void after_ends(std::vector<StartOption>& ways) const;
  bool runs_after_ends(std::size_t count) const;
  void move(std::vector<StartOption>& ways) const;

  const Engine& engine_;
  Instant now_;
  JobId job_;
  const WhyOptions& options_;
  Constraint constraint_;
  std::vector<Holder> holders_;
};

}  // namespace muster
