#pragma once

// The live manager, the second driver of the engine. One thread takes the calls of users and the
// events of leases, lets the roster decide, and writes the decision and the tables to the journal
// in one commit. Only then it orders leases and answers calls. If it is killed at any time, the
// journal and the lease records contain its state: see recovery.h.
//
//   calls, news -> Roster::step -> Journal::commit -> orders, answers, events
//
// Threads: the manager thread, in run(), owns the roster, the journal, its reader and all members.
// call(), news(), record(), watch(), change_settings() and stop() may be called from any thread.
// Queries is the last member, so its worker threads end before the members they use.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/port/service.h"
#include "base/types/result.h"
#include "live/config/state_directory.h"
#include "live/lease/lease_runner.h"
#include "live/lease/report_watch.h"
#include "live/lease/speed_learning.h"
#include "live/manager/audit_log.h"
#include "live/manager/eras.h"
#include "live/manager/inbox.h"
#include "live/manager/job_commands.h"
#include "live/manager/lease_orders.h"
#include "live/manager/manager_settings.h"
#include "live/manager/recovery.h"
#include "live/query/queries.h"
#include "live/query/read_context.h"
#include "live/store/job_reader.h"
#include "live/store/journal.h"
#include "live/views/note_log.h"

namespace muster {

class Manager final : public Service {
 public:
  // Recovers the state from the journal. Calls wait until run().
  static Result<std::unique_ptr<Manager>> open(ManagerSettings settings);

  // Before run(). The runner must outlive run().
  void use(LeaseRunner& runner) { runner_ = &runner; }
  const Instance& instance() const { return instance_; }
  // Returns the leases that should exist. All other leases on the nodes must be stopped.
  std::vector<std::pair<LiveId, std::uint32_t>> leases() const;

  // Serves until stop(). An error means that the disk failed; acknowledged changes are safe.
  MaybeError run();
  void stop();
  // Queues events of leases and nodes.
  void news(std::vector<Input> news) { inbox_.add(std::move(news)); }
  // Replaces the settings, because nodes were added or changed. As after a restart, they take
  // effect when all running jobs fit them.
  void change_settings(std::string scheduling, std::vector<NodeCaveats> nodes) {
    inbox_.change_settings({std::move(scheduling), std::move(nodes)});
  }

  void call(Caller caller, Call call, std::function<void(Answer)> done) override {
    inbox_.add({std::move(caller), std::move(call), std::move(done)});
  }
  void record(ServerAct act) override {
    if (audit_.add(audit_row(audit_.now(), act))) inbox_.wake();
  }
  TicketGenerations ticket_generations() const override { return journal_.ticket_generations(); }
  void watch(std::function<void(Notes)> news) override { notes_->watch(std::move(news)); }

 private:
  struct Waiter {  // A call that is answered after the next commit.
    Done done;
    Answer answer;
  };
  struct ProfileWaiter : Waiter {
    AuditRow row;  // Written when the profile is in use.
  };

  Manager(ManagerSettings settings, Recovered recovered);
  ReadContext read_context();
  QuerySettings query_settings();

  Duration time_to_next_turn() const;
  MaybeError run_until_stopped();
  MaybeError turn();
  std::vector<Input> take_work();  // Sorts the calls; returns the inputs of this turn.
  void command(PendingCall pending, std::vector<Input>& inputs);
  Done audited(const PendingCall& read);  // `done` of a read; also records refusals and looks.
  void answer_reads();
  void decide(std::vector<Input> inputs);
  void step(std::span<const Input> inputs);
  void note_step();
  void put_rows();
  MaybeError commit();
  MaybeError commit_and_act();
  void refuse_calls();  // While the journal cannot be written.
  void act();
  void order_again();  // After a restart.
  void set_limits();

  MaybeError begin_eras(bool needs_era);
  MaybeError adapt();
  MaybeError use_learned_profiles();
  MaybeError take_new_settings();
  MaybeError clean_up(Instant now);

  ManagerSettings settings_;
  Instance instance_;
  LeaseOrderSettings ordering_;
  LiveClock clock_;
  Journal journal_;
  JobReader rows_;
  CurrentRoster roster_;
  std::unique_ptr<NoteLog> notes_;
  ManagerStatus status_;
  ReportWatch reports_;
  SpeedLearning speeds_;
  Eras eras_;
  AuditLog audit_;
  JobCommands commands_;
  LeaseRunner* runner_ = nullptr;
  Inbox inbox_;

  std::vector<Order> orders_;  // This and the next two: of this turn, until its commit.
  std::vector<Waiter> waiters_;
  std::vector<PendingCall> reads_;
  std::vector<ProfileWaiter> profile_waiters_;  // Answered when their profiles are in use.
  bool lease_ended_ = false;                    // Since the settings were last adapted.
  std::size_t ended_since_trim_ = 0;
  Instant next_cleaning_;
  Queries queries_;  // Last: its threads use the other members.
};

}  // namespace muster
