#pragma once

// The pencil: a planner writes its wishes here, and each is checked at once against every hard
// constraint (slots free, CPU, memory and storage within the server, the whole gang or nothing, the
// GPU type, the CPU and memory and the number of servers asked for, one lease a job). What breaks
// one is refused and changes nothing, so a planner can choose badly but not overcommit. The engine
// inks the whole draft after plan() returns.

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/core/state.h"

namespace muster {

class Draft {
 public:
  // The engine opens one per plan. Until it is inked nobody else touches `state`.
  Draft(State& state, Instant now) : state_(&state), now_(now) {}

  const Books& books() const { return state_->books; }
  Instant now() const { return now_; }

  // The gang as pencilled; nullptr when the job would hold nothing.
  const Placement* placement(JobId job) const;

  // A waiting job gets this placement.
  bool start(JobId job, Placement placement);
  // A job that holds one gives it up. Stops that in the end make room for nobody are forgotten.
  bool stop(JobId job);
  // A job that holds one gets another: same slots is a resize (of one that does not share), other
  // slots a move. It may have another number of GPUs if the job is elastic.
  bool replace(JobId job, Placement placement);

  // A job that would hold nothing gets the very GPUs that `host` holds, together with it and
  // whoever has them already. Only as many as the job may have, of its type; packed only two alone.
  // Neither of these may be rubbed out: no mark may have been made before.
  bool join(JobId job, JobId host, Together manner);
  // Changes how those that share with this job do it.
  bool set_manner(JobId job, Together manner);

  // Everything pencilled since the mark can be rubbed out again.
  using Mark = std::size_t;
  Mark mark();
  void rollback(Mark mark);

 private:
  friend class Engine;
  struct Pencil {
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
  // On used paper.
  Draft(State& state, Instant now, std::vector<Pencil> paper)
      : state_(&state), now_(now), pencils_(std::move(paper)) {
    pencils_.clear();
  }
  Pencil& pencil(JobId job);
  bool acceptable(const Job& job, const Placement& placement) const;
  bool right_sort(const Job& job, const Placement& placement) const;  // GPUs as it wants them.
  void take(const Placement& placement);
  void give(const Placement& placement);
  void remember(const Pencil& pencil);
  void forget_pointless_stops();

  State* state_;
  Instant now_;
  std::vector<Pencil> pencils_;  // In the order the jobs were first touched.
  std::vector<Undo> undo_;       // Only while somebody holds a mark.
  bool undoable_ = false;
};

}  // namespace muster
