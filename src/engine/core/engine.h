#pragma once

// The scheduling engine: step(now, events) -> actions. It reads no clock and does no I/O. The
// simulator and the live manager drive it, and the same events always give the same actions. Not
// thread-safe.
//
//   apply all events -> Planner::plan(View, Draft) -> drop useless stops -> commit the draft
//     -> start promised leases whose GPUs are free -> actions

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/types/result.h"
#include "engine/core/draft.h"
#include "engine/core/engine_view.h"
#include "engine/core/event.h"
#include "engine/failure/input_blame.h"

namespace muster {

class Engine : public EngineView {
 public:
  // Maximum time that a job waits for nodes other than those it failed on. Then it may use any
  // node.
  static constexpr Duration kPatience = Duration::seconds(600);

  // `cluster` must outlive the engine.
  Engine(const Cluster& cluster, Owned<Planner> planner, const EngineOptions& options);

  // Applies the events at `now` and returns the resulting actions, which are valid until the next
  // call. May be called several times for one instant. REQUIRES: `now` is not before the last call.
  std::span<const Action> step(Instant now, std::span<const Event> events);

  // The evidence against nodes that an engine after this one must know.
  BlameMemory blame_memory() const { return nodes_.memory(now_); }

  // Like step(), but uses the decisions of an earlier engine for the same events, instead of the
  // planner and the retry rules. Checks each change against the state. An error (kCorrupt) means
  // that the decisions do not fit the state; the engine is then valid but of no further use.
  // REQUIRES: the planner is a RecordedPlanner, because others do not notice these changes.
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
  void apply(const JobPredicted& event);
  void apply(const JobSaved& event);
  void apply(const TypeMeasured& event);
  void apply(const WorkKnown& event) { state_.estimator.learn(event.spec, event.work); }
  void apply(const NodeClosed& event);
  void apply(const NodeOpened& event);
  void apply(const NodeTaken& event);
  void apply(const NodeEvidence& event);  // engine_failures.cc
  void apply(const BlameRestored& event) { nodes_.restore(event.memory); }
  void apply(const TimerFired&) {}
  bool admit(JobId job);  // Enqueues or rejects the job.
  // engine_failures.cc
  void fall_back(Job& job);  // Sets its progress to that of its last checkpoint.
  void wait_again(JobId job);
  void park(JobId job, Duration wait);
  void end_attempt(JobId job);
  RetryPolicy retry_rule(const JobSpec& spec) const;
  void blame_node(const AttemptFailed& event, const Job& job, const FailedAttempt& failed,
                  const Verdict& verdict);
  bool reports_may_close(NodeId node) const;
  void quarantine(Quarantine quarantine, Instant until);
  void avoid(JobId job, std::vector<NodeId> nodes);
  void begin_patience(JobId job);  // Starts the kPatience timer of a job that waits.
  void drop_void_avoidances();
  void release_backed_off();
  // engine_nodes.cc
  void block();
  void block_closed();  // Blocks all free GPUs of unschedulable nodes.
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
  const FailureDecision* given_reaction(const AttemptFailed& event);
  void repeat_quarantine(const AttemptFailed& event);
  void repeat_quarantine(const NodeEvidence& event);

  void begin_step(Instant now, std::span<const Event> events);
  void end_step();
  bool on_tick() const;
  void plan(PlanTrigger trigger);
  Draft open_plan();
  void close_plan(Draft& draft);
  void commit(Draft& draft);
  void commit_stops(Draft& draft);
  void commit_resizes(Draft& draft);
  void ask_for_wake();

  // revoke(), order_stop() and end_stopping() do not change the ledger. In a plan the Draft has
  // changed it already; elsewhere give_back() does it.
  void revoke(Job& job);      // Removes the planned lease of a job.
  void order_stop(Job& job);  // Makes its lease its `ending` lease and emits kStop.
  void end_stopping(Job& job);
  void grant(JobId job, Placement placement);
  void give_back(const Job& job);
  void start_if_clear(Lease& lease);
  void wait_for_neighbors(Lease& lease);
  void order_resize(Lease& lease);
  void tell_reseated();
  void start_cleared();  // After the plan, so that kStart always names the current lease.
  void emit(Action::Kind kind, JobId job, Epoch epoch, Instant at);

  Instant last_plan_ = Instant::micros(-1);
  JobTimers avoidances_;  // Waiting jobs that avoid nodes. Some entries are void.
  InputBlame inputs_;
  NodeBlame nodes_;
  std::vector<std::pair<Instant, NodeId>> drains_;  // Quarantined nodes, until when.
  Instant review_ = Instant::never();               // Planner::review_at() of the last plan.
  const Decisions* given_ = nullptr;                // Only during repeat().
  MaybeError misfit_;                               // Why the given decisions are invalid.
  std::vector<SlotMask> blocked_before_;  // By node, before the plan. Empty: no GPU was blocked.
  bool news_ = false;                     // An event since the last plan could change the plan.
  std::vector<Action> actions_;
  std::vector<std::pair<JobId, Epoch>> cleared_;  // Leases whose last blocker ended in this step.
  std::vector<Draft::Drafted> scratch_drafted_;   // Memory of the last draft, for reuse.
};

}  // namespace muster
