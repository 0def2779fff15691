#pragma once

// The state machine of submitted jobs, with the engine that schedules them. It reads no clock and
// does no I/O: the same inputs at the same instants always give the same orders and the same
// digest. So the manager can recover its state from its journal.
//
// It implements everything about jobs except scheduling: holds, dependencies, arrays, pre-runs and
// time limits. A job is in the engine only while it waits for nothing but GPUs.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/roster/job_links.h"
#include "engine/roster/roster_notes.h"
#include "engine/roster/roster_state.h"
#include "engine/roster/sibling_watch.h"

namespace muster {

// Whether a roster decides or repeats what another decided.
enum class Deciding : std::uint8_t { kPlans, kRepeats };

class Roster : public RosterNotes {
 public:
  explicit Roster(RosterSettings settings, Deciding deciding = Deciding::kPlans);

  // Applies the inputs at `now`, which never goes back. The results are valid until the next step:
  // orders, notes(), the jobs that changed (touched()) and the leases that ended.
  void step(Instant now, std::span<const Input> inputs);
  // As step(), but applies recorded decisions of the roster that took this step first; only with
  // kRepeats. On error, they do not fit the state and this roster must be discarded. There are no
  // wait causes in this mode.
  MaybeError repeat(Instant now, std::span<const Input> inputs, std::span<const Decisions> given);
  // The decisions in the last step or restore(), for each step of the engine.
  const std::vector<Decisions>& decisions() const { return decided_; }
  std::span<const Order> orders() const { return orders_; }
  std::span<const LeaseRecord> over() const { return over_; }

  // The spec that the engine would get for a request. Does not register the user or the name.
  JobSpec to_job_spec(const JobRequest& request, const std::string& user,
                      const std::string& tenant) const;

  // Used by engine_snapshot().
  const std::map<std::string, std::uint32_t>& users() const { return users_; }
  const std::deque<FinishedSample>& finished() const { return known_; }  // The latest.

  // A new roster, perhaps with other settings, continues from the state of another. restore()
  // returns the leases that could not be kept: stop them, wait until they have ended, and try again
  // without them (`gone`). With kRepeats: `given` as in repeat().
  RosterState state() const;
  Result<std::vector<Order>> restore(const RosterState& state,
                                     std::span<const std::pair<LiveId, std::uint32_t>> gone = {},
                                     std::span<const Decisions> given = {});

 private:
  struct Restoring;

  void apply(const SubmitInput& input);
  void apply(const CancelInput& input);
  void apply(const HoldInput& input);
  void apply(const ReleaseInput& input);
  void apply(const TickInput&) {}         // step() itself handles the timer.
  void apply(const LeaseUpInput& input);  // These five: roster_leases.cc
  void apply(const LeaseOverInput& input);
  void apply(const SavedInput& input);
  void apply(const ProfiledInput& input);
  void apply(const LeaseNoteInput& input);
  void apply(const ReportInput& input);  // roster_reports.cc
  void apply(const DrainInput& input);   // These two: roster_nodes.cc
  void apply(const NodeStateInput& input);
  void apply(const NodeTestInput& input);  // These two: roster_reactions.cc
  void apply(const NodeEvidenceInput& input);

  // roster.cc
  void forget_ended();
  void tell_dependents(LiveId id);
  void run_engine(bool without_events);  // True: the first step may have no events (timer).
  std::span<const Action> step_engine();
  void depend(LiveJob& job);
  void cancel(LiveJob& job, const std::string& why);
  void try_enter(LiveJob& job);
  void enter(LiveJob& job);
  void withdraw(LiveJob& job);
  void leave(LiveJob& job);
  void come_back(LiveJob& job);
  void finish(LiveJob& job, LiveState end, std::string why);
  void free_array_place(const LiveJob& job);
  JobSpec spec_of(const LiveJob& job);
  using RosterView::spec_of;
  JobRestored as_it_was(const LiveJob& job);

  // roster_leases.cc
  void carry_out(const Action& action);
  void start(LiveJob& job, const Action& action);
  void resize(LiveJob& job, JobId row);
  void end_lease(LiveJob& job, const LeaseOverInput& input, Duration ran);
  void end_trial(LiveJob& job, const LeaseOverInput& input);
  void give_up_lease(LiveJob& job, Epoch epoch, LiveState end, const std::string& why);
  void remember(const LiveJob& job);

  // roster_nodes.cc, roster_reactions.cc
  void open_unless_shut(NodeId node, bool refutes = false);
  void end_maintenance();
  void tell_reactions();
  void tell(const FailureDecision& reaction, LiveJob& job);
  void begin_quarantine(const Quarantine& quarantine);
  void test_nodes();
  void order_test(NodeId node, const char* why);
  void end_check(NodeId node, const NodeTestInput& input);
  void lose_lease(LiveJob& job, Epoch epoch);
  std::string over_memory(const Placement& placement) const;
  void hold_siblings();

  // roster_snapshot.cc
  void restore_finished(const RosterState& state);
  void restore_job(LiveJob job, Restoring& restoring);
  void restore_nodes(const RosterState& state, const Restoring& restoring);
  void restore_blame(const RosterState& state, const Restoring& restoring);
  void restore_links();
  std::vector<Order> restore_leases(Restoring& restoring);

  std::map<std::string, std::uint32_t> users_;
  std::map<std::string, std::uint32_t> names_;
  std::map<LiveId, ArrayLine> lines_;                    // By array.
  std::map<LiveId, std::vector<Dependent>> dependents_;  // By the job they wait for.
  SiblingWatch siblings_;
  std::set<NodeId> measured_;         // Nodes with a measured event in this step.
  std::vector<LiveId> last_straws_;   // Jobs that ended; their siblings will be held.
  std::deque<FinishedSample> known_;  // The latest, for estimates.
  std::vector<LiveId> ended_;         // In this step.
  std::size_t told_ = 0;              // The first N of them have notified their dependents.
  bool repeats_;
  std::span<const Decisions> given_;  // Still to be repeated in this step.
  MaybeError misfit_;                 // Why `given_` cannot be repeated.
  // The results of the last step; events_ is the input of the next engine step.
  std::vector<Event> events_;
  std::vector<Decisions> decided_;
  std::vector<Order> orders_;
  std::vector<LeaseRecord> over_;
};

}  // namespace muster
