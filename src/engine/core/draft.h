#pragma once

// A plan under construction. start(), stop() and replace() validate each change against all hard
// constraints: free slots; CPU, memory and storage of the node; the whole gang or nothing; the GPU
// type, CPU, memory and number of nodes of the job; one lease per job. An invalid change returns
// false and has no effect, so no planner can overcommit. The engine creates one Draft per plan and
// commits it as a whole after Planner::plan() returns.

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/core/state.h"

namespace muster {

class Draft {
 public:
  // Until the engine commits the draft, nothing else may use `state`.
  Draft(State& state, Instant now) : state_(&state), now_(now) {}

  const ResourceLedger& ledger() const { return state_->ledger; }
  Instant now() const { return now_; }

  // Returns the drafted placement of a job, or nullptr if it would hold nothing.
  const Placement* placement(JobId job) const;

  // Gives a waiting job this placement.
  bool start(JobId job, Placement placement);
  // Releases the placement of a job. The engine drops stops that free resources for no other job.
  bool stop(JobId job);
  // Gives a job another placement. The same slots mean a resize, if the job does not share GPUs;
  // other slots mean a move. The number of GPUs may change if the job is elastic.
  bool replace(JobId job, Placement placement);

  // Gives a job without a placement exactly the GPUs of `host`, shared with `host` and its group.
  // Fails if their number or type does not suit the job. A packed group has only two members.
  // REQUIRES, also for set_manner(): mark() was not called, because these cannot be rolled back.
  bool join(JobId job, JobId host, SharingMode manner);
  // Changes the sharing mode of the group of this job.
  bool set_manner(JobId job, SharingMode manner);

  // rollback() undoes all changes since the mark.
  using Mark = std::size_t;
  Mark mark();
  void rollback(Mark mark);

 private:
  friend class Engine;
  struct Drafted {
    JobId job;
    bool had = false;  // Held a lease before the draft.
    bool has = false;  // Holds `placement` now.
    Placement placement;
  };
  struct Undo {
    JobId job;
    bool has;
    Placement placement;
  };
  // Reuses the memory of `scratch`.
  Draft(State& state, Instant now, std::vector<Drafted> scratch)
      : state_(&state), now_(now), drafted_(std::move(scratch)) {
    drafted_.clear();
  }
  Drafted& drafted(JobId job);
  bool acceptable(const Job& job, const Placement& placement) const;
  // Whether GPU type, GPU count, CPU, memory and number of nodes are as the job requests.
  bool right_sort(const Job& job, const Placement& placement) const;
  void take(const Placement& placement);
  void give(const Placement& placement);
  void remember(const Drafted& drafted);
  void forget_pointless_stops();

  State* state_;
  Instant now_;
  std::vector<Drafted> drafted_;  // In the order in which jobs were first changed.
  std::vector<Undo> undo_;        // Filled only after mark().
  bool undoable_ = false;
};

}  // namespace muster
