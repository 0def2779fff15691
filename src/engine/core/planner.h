#pragma once

// Interface of the schedulers. A Planner reads a View and drafts changes in a Draft, which the
// engine validates and commits. ComposedPlanner (composed_planner.h) combines a policy, a mechanism
// and a placement. A scheduler that does not fit this scheme is another Planner.
//
// A Planner depends only on its inputs: it uses no clock, file or random source. So the same
// journal always leads to the same schedule. The engine makes all calls, on the thread of its
// driver.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/draft.h"
#include "engine/core/view.h"
#include "engine/core/waiting.h"

namespace muster {

enum class PlanTrigger : std::uint8_t {
  kNews,      // Jobs were submitted, ended or were cancelled.
  kTick,      // A round or quantum starts: the plan may stop leases even without an event.
  kIdleTick,  // A tick without an event since the last plan. A planner that does not drift must not
              // change the draft, because the engine may skip such rounds.
};

enum class JobExit : std::uint8_t { kCompleted, kCancelled };

// Free GPUs that a plan keeps for a waiting job.
struct BackfillReservation {
  JobId job;
  std::int32_t gpus = 0;
  Instant from = Instant::never();  // Estimated start of the job; never(): unknown.

  friend bool operator==(const BackfillReservation&, const BackfillReservation&) = default;
};

// Which running jobs must report (JobReported) when the driver wakes the engine.
enum class Reports : std::uint8_t {
  kNone,
  kChanged,  // Jobs whose conditions have changed since their last report.
  kAll,
};

class Planner {
 public:
  virtual ~Planner() = default;

  // Returns why the job can never run here, even alone, or nullopt if it can. Called once per job,
  // at submission.
  virtual std::optional<std::string> refuse(const JobSpec& spec) = 0;

  // Whether the job could run here, alone, without these nodes. Only planners that respect
  // View::avoided() override it.
  virtual bool could_avoid(const JobSpec& /*spec*/, std::span<const NodeId> /*servers*/) const {
    return false;
  }

  // The job waits from now on: it was just submitted, a committed plan stopped it, or it is
  // retried.
  virtual void enqueue(const View& view, JobId job) = 0;

  // Called after enqueue() of a restored job. Drafts exactly this placement, as if a plan had
  // chosen it. Returns false, without a change, if the planner cannot keep it.
  virtual bool resume(const View& /*view*/, Draft& /*draft*/, JobId /*job*/,
                      Placement /*placement*/) {
    return false;
  }

  // The planner must drop the job: it ended or was cancelled, or its attempt ended.
  virtual void forget(const View& view, JobId job, JobExit job_exit) = 0;

  // The avoided nodes of a waiting job have changed since enqueue(). Called only after
  // could_avoid() returned true.
  virtual void reseat(const View& view, JobId job) {
    forget(view, job, JobExit::kCancelled);
    enqueue(view, job);
  }

  // The estimate of a waiting or placed job went up or down. Only planners that use estimates
  // override it.
  virtual void revised(const View& /*view*/, JobId /*job*/) {}

  // Drafts the changes to make at view.now(). Called once all events of the step are applied. An
  // unchanged draft changes nothing.
  virtual void plan(const View& view, Draft& draft, PlanTrigger trigger) = 0;

  // Whether the set of jobs that should run changes with time alone while jobs wait. The engine
  // then plans at ticks.
  virtual bool drifts() const = 0;

  // Called after each plan. Returns when to plan again (kTick) even without an event, or never().
  // Must be later than the plan. With rounds, the engine plans at the first round not before it.
  virtual Instant review_at() const { return Instant::never(); }

  // Both observe() calls precede the plan of the same instant. Reports come from running leases
  // only.
  virtual Reports wants_reports() const { return Reports::kNone; }
  virtual void observe(const View& /*view*/, const JobReported& /*report*/) {}
  virtual void observe(const View& /*view*/, const TypeMeasured& /*trial*/) {}

  // Returns the wait time of the job by cause. Any wait time that is missing in it counts as
  // kOrder.
  virtual WaitSplit waited(JobId /*job*/, Instant /*now*/) const { return {}; }

  // Returns the first job of each demand class that the last plan considered. The job to be served
  // next comes first. Explanations for users need it.
  virtual std::vector<JobId> class_heads(Instant /*now*/) const { return {}; }

  // Returns up to `most` waiting jobs in the order in which plan() considers them; fewer if
  // computing more would be slow. Returns nullopt if this planner has no fixed order.
  virtual std::optional<std::vector<JobId>> queue_order(const View& /*view*/,
                                                        std::size_t /*most*/) const {
    return std::nullopt;
  }

  // Returns the reservation of the last plan, or nullopt.
  virtual std::optional<BackfillReservation> kept_free() const { return std::nullopt; }
};

}  // namespace muster
