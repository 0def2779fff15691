#pragma once

// The engine: step(now, events) -> actions, and nothing else. It reads no clock and does no I/O;
// the simulator and the live manager are two drivers of it, and the same events give the same
// actions.
//
//   apply every event -> plan(View, Draft) -> forget stops that gain nothing -> ink
//     -> start what was promised and is clear -> actions

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/owned.h"
#include "core/cluster.h"
#include "core/draft.h"
#include "core/estimator.h"
#include "core/event.h"
#include "core/planner.h"
#include "core/state.h"
#include "failure/blame.h"
#include "failure/retry.h"

namespace muster {

struct EngineOptions {
  Pooling pooling = Pooling::kPerNode;
  EstimateSource::Kind estimates = EstimateSource::Kind::kOracle;
  // Zero: plan whenever something happens. Otherwise plan only at first_round + k * round.
  Duration round;
  Instant first_round;
  // Without rounds: how long a lease is safe from a policy whose order drifts with time.
  Duration quantum = Duration::seconds(300);
  // How often a running job saves its work. What it did since is lost when its attempt fails.
  Duration checkpoint_interval = Duration::seconds(300);
  RetryPolicy retry = RetryPolicy::none();
  ServerBlameOptions servers = {};  // When they are closed for what fails on them.
  // Plan also in rounds before which nothing happened that could change a plan. The result is the
  // same; tests use it to show that.
  bool plan_idle_rounds = false;
};

// What became of a failed attempt, for whoever tells people.
struct Aftermath {
  JobId job;
  Epoch epoch = 0;
  Reason reason = Reason::kNoSignature;
  Verdict verdict;
  std::vector<NodeId> avoided;  // Servers the next attempt is kept off.
};
// A server closed for what failed on it.
struct Quarantine {
  NodeId server;
  Charge charge;
};

class Engine {
 public:
  // How long a job waits for other servers than those it failed on, before any will do.
  static constexpr Duration kPatience = Duration::seconds(600);

  // `cluster` must outlive the engine.
  Engine(const Cluster& cluster, Owned<Planner> planner, const EngineOptions& options);

  // Applies what happened at `now`, which never goes back, and returns what to do about it. The
  // actions are valid until the next call. May be called several times for one instant, as news of
  // it comes in.
  std::span<const Action> step(Instant now, std::span<const Event> events);

  // The lease of a job that a Start or Resize names.
  const Lease& lease(JobId job) const;
  const std::string& why_rejected(JobId job) const;
  // Failed attempts of a job that is not over, in order.
  std::span<const FailedAttempt> failures(JobId job) const;
  // Of the last step, in order.
  std::span<const Aftermath> reactions() const { return reactions_; }
  std::span<const Quarantine> quarantines() const { return quarantines_; }
  const State& state() const { return state_; }
  Instant wake() const { return wake_; }  // The last wish for a WakeAt; never() for none.
  // Plans that are due at set times are no farther apart.
  Duration longest_pause() const { return std::max(options_.round, options_.quantum); }
  Instant parked_until(JobId job) const;  // When a parked job is tried again.
  Reports wants_reports() const { return planner_->wants_reports(); }
  // Up to `now`, not before the last step.
  WaitSplit waited(JobId job, Instant now) const { return planner_->waited(job, now); }
  std::vector<JobId> fronts() const { return planner_->fronts(now_); }
  // As of `now`, not before the last step.
  std::optional<std::vector<JobId>> line(Instant now, std::size_t most) const;
  std::optional<KeptFree> kept_free() const;  // For a job that still waits.

  struct Counters {
    std::uint64_t events = 0;
    std::uint64_t stale = 0;  // News of leases already given up; ignored.
    std::uint64_t plans = 0;
    std::uint64_t decisions = 0;  // Starts, stops and resizes ordered.
  };
  const Counters& counters() const { return counters_; }

  // Of every action and every end, in order.
  std::uint64_t digest() const { return digest_.value(); }

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
  void avoid(JobId job, std::vector<NodeId> servers);
  void begin_patience(JobId job);  // It waits from now on.
  void drop_void_patience();
  void release_parked();
  // engine_nodes.cc
  void block();
  void block_slots(NodeId node, std::int32_t wanted);
  void set_aside(NodeId node, const Resources& rights);
  enum class Ours : std::uint8_t { kHeld, kRights };
  std::map<NodeId, Resources> ours_beside_strangers(Ours what) const;
  bool revoke_misplaced();

  bool on_tick() const;
  void plan(Occasion occasion);
  void ink(Draft& draft);
  void ink_stops(Draft& draft);
  void ink_resizes(Draft& draft);
  Instant round_after(Instant when) const;
  void ask_for_wake();

  std::int32_t new_lease(JobId job, Placement placement);
  void release(std::int32_t row);  // Returns the row to the unused ones.
  // The next three leave the books alone, which a plan has brought up to date before it is inked;
  // elsewhere give_back() does.
  void revoke(Job& job);      // Takes back the planned lease of a job.
  void order_stop(Job& job);  // Running or about to: becomes its `ending` lease.
  void grant(JobId job, Placement placement);
  void give_back(const Job& job);
  void start_if_clear(Lease& lease);
  // Under which node stopping leases are listed: all under one when CPU and memory are pooled.
  NodeId yard(NodeId node) const { return state_.books.pooled() ? NodeId(0) : node; }
  void wait_for_neighbours(Lease& lease);
  void order_resize(Lease& lease);
  void tell_reseated();
  void start_cleared();  // Only after the plan, so that a Start always names the current lease.
  void emit(Action::Kind kind, JobId job, Epoch epoch, Instant at);

  State state_;
  Owned<Planner> planner_;
  EngineOptions options_;
  Estimator estimator_;
  Instant now_;
  Instant last_plan_ = Instant::micros(-1);
  Instant wake_ = Instant::never();
  struct Parked {
    Instant until;
    JobId job;
    friend bool operator>(const Parked& a, const Parked& b) {
      return a.until != b.until ? a.until > b.until : a.job > b.job;
    }
  };
  std::vector<Parked> parked_;    // A heap, the soonest first.
  std::vector<Parked> patience_;  // The same; those that avoid servers. Some are void.
  std::map<JobId, std::vector<FailedAttempt>> failures_;  // Of jobs not yet done.
  InputBlame inputs_;
  ServerBlame servers_;
  std::vector<std::pair<Instant, NodeId>>
      drains_;                         // Servers closed for their failures, until when.
  Instant review_ = Instant::never();  // When the planner wants to plan even without news.
  std::vector<Aftermath> reactions_;
  std::vector<Quarantine> quarantines_;
  bool news_ = false;  // Something happened since the last plan that could change it.
  std::vector<Action> actions_;
  std::vector<std::pair<JobId, Epoch>> cleared_;  // In this step, of all that blocked them.
  IdVector<JobId, std::uint32_t> rejection_;      // Index into rejections_ + 1, 0 for none.
  std::vector<std::string> rejections_;
  Counters counters_;
  Digest digest_;
  std::vector<Draft::Pencil> paper_;  // Of the last draft, for the next: saves allocating it anew.
};

}  // namespace muster
