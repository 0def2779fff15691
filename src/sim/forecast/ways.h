#pragma once

// The ways out of explain(): what could be done so that a waiting job runs, each tried on a copy of
// the engine. For why.cc alone.

#include <utility>
#include <vector>

#include "sim/forecast/why.h"

namespace muster {

std::vector<Duration> work_left(const Engine& engine, Instant now, const WhyOptions& options);

// A job that holds GPUs is done.
Event end_of(const Engine& engine, JobId job);

// Whether the job would run if it were resubmitted, so; `begun` as for runs_after().
bool runs_anew(const Engine& engine, Instant now, JobId job, const JobSpec& spec,
               Begun* begun = nullptr);
// With this word on how long it runs.
bool runs_if_shorter(const Engine& engine, Instant now, JobId job, Duration estimate,
                     Begun* begun = nullptr);

class Ways {
 public:
  Ways(const Engine& engine, Instant now, JobId job, const WhyOptions& options,
       Constraint constraint);

  // Everybody who holds GPUs it could use, the soonest to end first.
  const std::vector<Holder>& holders() const { return holders_; }
  std::vector<WayOut> find(const Rules& rules) const;

 private:
  // And then it is this way.
  bool runs_with(const JobSpec& spec, WayOut& way) const {
    way.begun = {};
    return runs_anew(engine_, now_, job_, spec, &way.begun);
  }
  // Adds the way if the job runs with this request.
  bool add_if_it_runs(const JobSpec& spec, WayOut way, std::vector<WayOut>& ways) const {
    if (!runs_with(spec, way)) return false;
    ways.push_back(std::move(way));
    return true;
  }
  void fewer_gpus(std::vector<WayOut>& ways) const;
  void less_beside(std::vector<WayOut>& ways, WayOut::Kind kind) const;
  void wider_spread(std::vector<WayOut>& ways) const;
  void higher_priority(std::vector<WayOut>& ways) const;
  void other_tenant(std::vector<WayOut>& ways) const;
  void shorter(std::vector<WayOut>& ways) const;
  void after_ends(std::vector<WayOut>& ways) const;
  bool runs_after_ends(std::size_t count) const;
  void move(std::vector<WayOut>& ways) const;

  const Engine& engine_;
  Instant now_;
  JobId job_;
  const WhyOptions& options_;
  Constraint constraint_;
  std::vector<Holder> holders_;
};

}  // namespace muster
