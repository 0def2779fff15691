#pragma once

// The engine: step(now, events) -> actions, and nothing else. It reads no clock and does no I/O;
// the simulator and the live manager are two drivers of it, and the same events give the same
// actions.
//
//   apply every event -> plan(View, Draft) -> forget stops that gain nothing -> ink
//     -> start what was promised and is clear -> actions

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/types/result.h"
#include "engine/core/draft.h"
#include "engine/core/engine_view.h"
#include "engine/core/event.h"

namespace muster {

class Engine : public EngineView {
 public:
  // How long a job waits for other servers than those it failed on, before any will do.
  static constexpr Duration kPatience = Duration::seconds(600);

  // `cluster` must outlive the engine.
  Engine(const Cluster& cluster, Owned<Planner> planner, const EngineOptions& options);

  // Applies what happened at `now`, which never goes back, and returns what to do about it. The
  // actions are valid until the next call. May be called several times for one instant, as news of
  // it comes in.
  std::span<const Action> step(Instant now, std::span<const Event> events);

  // As step(), with the decisions of an earlier engine for the same events: the planner and the
  // retry rules are not asked. Each change is checked against the state. An error:
  // the decisions do not fit the state; the engine is valid but of no further use. The planner must
  // be a RecordedPlanner, since others do not notice these changes.
  Result<std::span<const Action>> repeat(Instant now, std::span<const Event> events,
                                         const Decisions& given);

 private:
  void apply(const JobSubmitted& event);
  void apply(const JobRestored& event);
  void apply(const JobCancelled& event);
  void apply(const LeaseStarted& event);
  void apply(const LeaseEnded& event);
  void apply(const AttemptFailed& event);
  void apply(const LeaseLost& event);
  void apply(const JobReported& event);
  void apply(const JobForeseen& event);
  void apply(const JobSaved& event);
  void apply(const TypeMeasured& event);
  void apply(const WorkKnown& event) { estimator_.learn(event.spec, event.work); }
  void apply(const NodeClosed& event);
  void apply(const NodeOpened& event);
  void apply(const NodeTaken& event);
  void apply(const TimerFired&) {}
  bool admit(JobId job);  // Into the queue, or rejects it.
  // engine_failures.cc
  void fall_back(Job& job);  // To what it had saved.
  void wait_again(JobId job);
  void park(JobId job, Duration wait);
  void end_attempt(JobId job);
  RetryPolicy retry_rule(const JobSpec& spec) const;
  void blame_server(const AttemptFailed& event, const Job& job, const FailedAttempt& failed,
                    const Verdict& verdict);
  void quarantine(Quarantine quarantine, Instant until);
  void avoid(JobId job, std::vector<NodeId> servers);
  void begin_patience(JobId job);  // It waits from now on.
  void drop_void_patience();
  void release_parked();
  // engine_nodes.cc
  void block();
  void block_closed();  // All GPUs that are free on closed nodes.
  void unblock(NodeId node);
  bool revoke_misplaced();

  // engine_repeat.cc
  void record_blocked();
  void record_plan(const Draft& draft);
  void refuse_given(std::string why);
  void repeat_plan(const Decisions& given);
  bool can_repeat(const PlannedChange& change) const;
  void repeat_blocked(const std::vector<BlockedGpus>& blocked);
  std::optional<std::string> given_rejection(JobId job) const;
  const Aftermath* given_reaction(const AttemptFailed& event);
  void repeat_quarantine(const AttemptFailed& event);

  void begin_step(Instant now, std::span<const Event> events);
  void end_step();
  bool on_tick() const;
  void plan(Occasion occasion);
  Draft open_plan();
  void close_plan(Draft& draft);
  void ink(Draft& draft);
  void ink_stops(Draft& draft);
  void ink_resizes(Draft& draft);
  void ask_for_wake();

  // The next three leave the books alone, which a plan has brought up to date before it is inked;
  // elsewhere give_back() does.
  void revoke(Job& job);      // Takes back the planned lease of a job.
  void order_stop(Job& job);  // Running or about to: becomes its `ending` lease.
  void end_stopping(Job& job);
  void grant(JobId job, Placement placement);
  void give_back(const Job& job);
  void start_if_clear(Lease& lease);
  void wait_for_neighbours(Lease& lease);
  void order_resize(Lease& lease);
  void tell_reseated();
  void start_cleared();  // Only after the plan, so that a Start always names the current lease.
  void emit(Action::Kind kind, JobId job, Epoch epoch, Instant at);

  Estimator estimator_;
  Instant last_plan_ = Instant::micros(-1);
  JobTimers patience_;  // Waiting jobs that avoid servers. Some are void.
  InputBlame inputs_;
  ServerBlame servers_;
  std::vector<std::pair<Instant, NodeId>> drains_;  // Quarantined servers, until when.
  Instant review_ = Instant::never();     // When the planner wants to plan even without news.
  const Decisions* given_ = nullptr;      // Only during repeat().
  Refusal misfit_;                        // Why the given decisions are refused.
  std::vector<SlotMask> blocked_before_;  // By node, before the plan. Empty: no GPU is blocked.
  bool news_ = false;  // Something happened since the last plan that could change it.
  std::vector<Action> actions_;
  std::vector<std::pair<JobId, Epoch>> cleared_;  // In this step, of all that blocked them.
  std::vector<Draft::Pencil> paper_;  // Of the last draft, for the next: saves allocating it anew.
};

}  // namespace muster
