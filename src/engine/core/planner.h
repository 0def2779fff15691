#pragma once

// Decides what should run. A Planner reads a View and pencils its wishes into a Draft; the engine
// checks and inks them. Chain (chain.h) is the one that composes policy, mechanism and placement; a
// scheduler that does not fit that chain is another Planner.
//
// A Planner is a function of what it is shown: no clock, file or random source of its own, so one
// journal always yields one schedule.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/draft.h"
#include "engine/core/view.h"
#include "engine/core/waiting.h"

namespace muster {

enum class Occasion : std::uint8_t {
  kNews,      // Jobs came, ended or were cancelled.
  kTick,      // A round or quantum begins: leases may be taken away even if nothing is new.
  kIdleTick,  // The same, and nothing came, ended or was cancelled since the last plan. A planner
              // that does not drift must leave the draft alone, since such rounds may be skipped.
};

enum class Farewell : std::uint8_t { kCompleted, kCancelled };

// Free GPUs that a plan left alone for the sake of a job that waits.
struct KeptFree {
  JobId job;
  std::int32_t gpus = 0;
  Instant from = Instant::never();  // When it should start, by the estimates; never(): not known.

  friend bool operator==(const KeptFree&, const KeptFree&) = default;
};

// What a planner wants to be told of running jobs whenever the driver wakes the engine.
enum class Reports : std::uint8_t {
  kNone,
  kChanged,  // Of those that have run in new circumstances since they last reported.
  kAll,
};

class Planner {
 public:
  virtual ~Planner() = default;

  // Why this job could never run here, even alone; nothing if it could. Asked once, at submission.
  virtual std::optional<std::string> refuse(const JobSpec& spec) = 0;

  // Whether such a job could run here, alone, if none of these servers were there, and the planner
  // keeps jobs off the servers that View::avoided() names. A planner that does not says no.
  virtual bool could_avoid(const JobSpec& /*spec*/, std::span<const NodeId> /*servers*/) const {
    return false;
  }

  // The job waits from now on: it was just submitted, or an inked plan stopped it.
  virtual void enqueue(const View& view, JobId job) = 0;

  // After enqueue() of a job that comes with a past: pencils this very placement, as if a plan had
  // chosen it. False, and nothing pencilled: it cannot be kept, or not by this planner.
  virtual bool resume(const View& /*view*/, Draft& /*draft*/, JobId /*job*/,
                      Placement /*placement*/) {
    return false;
  }

  // The job is no longer of interest: it ended, or was cancelled.
  virtual void forget(const View& view, JobId job, Farewell farewell) = 0;

  // What a waiting job avoids is another than when it was enqueued. Only after could_avoid().
  virtual void reseat(const View& view, JobId job) {
    forget(view, job, Farewell::kCancelled);
    enqueue(view, job);
  }

  // What a job that waits or is placed is believed to take is another than before: more or less.
  // Only planners that go by it need to care.
  virtual void revised(const View& /*view*/, JobId /*job*/) {}

  // Pencils the changes wanted at view.now(). Called after every event of that instant. An
  // untouched draft means "carry on".
  virtual void plan(const View& view, Draft& draft, Occasion occasion) = 0;

  // Whether who should run changes with time alone while jobs wait, so that ticks are needed.
  virtual bool drifts() const = 0;

  // Asked after each plan: the instant at which to plan again (kTick) even if nothing happens until
  // then; never() for none. With rounds, the first round not before it.
  virtual Instant review_at() const { return Instant::never(); }

  // Both come before the plan of that instant. A report is of a lease that runs.
  virtual Reports wants_reports() const { return Reports::kNone; }
  virtual void observe(const View& /*view*/, const JobReported& /*report*/) {}
  virtual void observe(const View& /*view*/, const TypeMeasured& /*trial*/) {}

  // Why the job has waited so far. What is missing of the whole is kOrder.
  virtual WaitSplit waited(JobId /*job*/, Instant /*now*/) const { return {}; }

  // Waiting jobs that the last plan looked at: of each kind, which fit or do not fit alike, the
  // first; and before the others the one to be served next. For whoever tells people.
  virtual std::vector<JobId> fronts(Instant /*now*/) const { return {}; }

  // Waiting jobs in the order in which they are come to: who would start before whom if all fitted
  // and nobody else came. No more than `most`, and fewer where more would take long to tell.
  // Nothing: this planner has no such order.
  virtual std::optional<std::vector<JobId>> line(const View& /*view*/, std::size_t /*most*/) const {
    return std::nullopt;
  }

  // By the last plan.
  virtual std::optional<KeptFree> kept_free() const { return std::nullopt; }
};

}  // namespace muster
