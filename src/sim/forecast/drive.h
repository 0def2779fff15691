#pragma once

// A copy of an engine, carried on in imagined time: what would become of the jobs if each had so
// much work left, nothing failed and nobody else came, or only those we imagine. Who wants to know
// when a job will start drives a few of these; see eta.h and why.h.

#include <cstddef>
#include <span>
#include <vector>

#include "base/types/time.h"
#include "engine/core/engine.h"
#include "sim/run/timetable.h"

namespace muster {

// Time a job is taken to hold its GPUs without making progress.
struct DriveCosts {
  Duration save = Duration::seconds(10);     // When told to stop.
  Duration restart = Duration::seconds(20);  // When it goes on.
};

// Somebody who has not come yet.
struct Newcomer {
  Instant at;
  JobSpec spec;
  Duration work;
};

class Drive {
 public:
  // `work_left`: at the reference share, by JobId, of every job that is not over; the rest is not
  // looked at. `now`: not before the engine's last step.
  Drive(const Engine& engine, Instant now, std::vector<Duration> work_left,
        const DriveCosts& costs = {});

  // Events of this instant, before it goes on. A job submitted by one needs its work told first.
  void tell(std::span<const Event> events);
  JobId submit(const JobSpec& spec, Duration work);
  // In order of time, none before now.
  void expect(std::vector<Newcomer> newcomers) { newcomers_ = std::move(newcomers); }

  // On to the next thing that happens; false if nothing does until `horizon`.
  bool advance(Instant horizon);
  // When the job gets its GPUs, from now on; never() if it does not until `horizon`.
  Instant start_of(JobId job, Instant horizon);

  Instant now() const { return now_; }
  const Engine& engine() const { return engine_; }
  // Leases told to start and jobs that were done so far, in order.
  std::span<const JobId> started() const { return started_; }
  std::span<const JobId> ended() const { return ended_; }

 private:
  struct Run {
    std::int64_t left_us = 0;  // Work, as of `since`.
    Instant since;
    double speed = 0;
  };

  void take_over(JobId job);
  void step();
  void carry_out(const Action& action);
  void settle(JobId job);
  void set_speed(JobId job, double speed);
  void pass(const Timetable::Entry& entry);

  Engine engine_;
  Instant now_;
  Instant wake_;
  DriveCosts costs_;
  std::vector<Run> runs_;  // By JobId.
  Timetable timetable_;
  std::vector<Newcomer> newcomers_;
  std::size_t arrived_ = 0;
  std::vector<Event> events_;  // For the next step.
  std::vector<JobId> started_;
  std::vector<JobId> ended_;
};

}  // namespace muster
