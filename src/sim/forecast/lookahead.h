#pragma once

// Runs a copy of the engine in simulated time to predict when jobs start and finish. It assumes the
// given remaining work per job, no failures, and no arrivals except those passed to expect().
// start_forecast.h and wait_explanation.h run it. Cost: one Engine::step() per instant.

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "base/types/time.h"
#include "engine/core/engine.h"
#include "sim/run/event_queue.h"

namespace muster {

// Times during which a job holds its GPUs without making progress.
struct LookaheadCosts {
  Duration save = Duration::seconds(10);     // After an order to stop.
  Duration restart = Duration::seconds(20);  // Before a stopped job resumes.
};

// A job that will be submitted at a later time.
struct FutureArrival {
  Instant at;
  JobSpec spec;
  Duration work;
  // The user cancels the job if it has waited this long for its first start; max(): never.
  Duration patience = Duration::max();
};

// A closed node that will be opened at a later time.
struct FutureNode {
  Instant at;
  NodeId node;
  bool tested = false;  // It opens only if it passes a test. False: its maintenance ends.
};

class Lookahead {
 public:
  // `work_left` is indexed by JobId and given in time at the reference share. Entries of finished
  // jobs are ignored. `now` must not be earlier than the engine's last step.
  Lookahead(const Engine& engine, Instant now, std::vector<Duration> work_left,
            const LookaheadCosts& costs = {});

  // Applies events at the current instant. Jobs must be submitted with submit(), which also needs
  // their work.
  void tell(std::span<const Event> events);
  JobId submit(const JobSpec& spec, Duration work);
  // The arrivals must be in order of time, and none may be earlier than now().
  void expect(std::vector<FutureArrival> arrivals) { arrivals_ = std::move(arrivals); }

  // Advances to the next event. Returns false if there is none before `horizon`.
  bool advance(Instant horizon);
  // Advances until the job has a lease and returns that time; never() if this is not before
  // `horizon`.
  Instant start_of(JobId job, Instant horizon);

  // Opens the node at this time.
  void expect_node(const FutureNode& node) { nodes_.emplace(node.at, node.node); }
  // Cancels the job at this time unless it has started by then.
  void expect_cancel(JobId job, Instant at) { cancels_.emplace(at, job); }

  Instant now() const { return now_; }
  const Engine& engine() const { return engine_; }
  // Jobs whose leases were ordered to start so far, and jobs that have finished, in order.
  std::span<const JobId> started() const { return started_; }
  std::span<const JobId> ended() const { return ended_; }
  std::span<const JobId> cancelled() const { return cancelled_; }

 private:
  struct Run {
    std::int64_t left_us = 0;  // Work left at `since`.
    Instant since;
    double speed = 0;
  };

  void take_over(JobId job);
  void step();
  void carry_out(const Action& action);
  void settle(JobId job);
  void set_speed(JobId job, double speed);
  void pass(const EventQueue::Entry& entry);
  void arrive();
  void cancel();

  Engine engine_;
  Instant now_;
  Instant wake_;
  LookaheadCosts costs_;
  std::vector<Run> runs_;  // Indexed by JobId.
  EventQueue event_queue_;
  std::vector<FutureArrival> arrivals_;
  std::size_t arrived_ = 0;
  std::multimap<Instant, JobId> cancels_;
  std::multimap<Instant, NodeId> nodes_;
  std::vector<Event> events_;  // Input of the next step.
  std::vector<JobId> started_;
  std::vector<JobId> ended_;
  std::vector<JobId> cancelled_;
};

}  // namespace muster
