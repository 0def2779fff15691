#pragma once

// Driver 2: the live manager. One thread takes the calls of users and the events of leases, lets
// the roster decide, and writes the decision and the tables to the journal in one commit. Only then
// it gives orders and answers. If it is killed at any time, the journal and the lease records
// contain its state: see recovery.h.
//
//   calls, news -> Roster::step -> Journal::commit -> orders, answers, events
//
// Threads: the manager thread, in run(), owns the roster, the journal, their reader and all parts.
// call(), news(), watch(), change_settings() and stop() may be called from any thread. Queries is
// the last member, so its worker threads end before what they use.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/port/service.h"
#include "base/types/result.h"
#include "live/config/instance.h"
#include "live/lease/hands.h"
#include "live/lease/report_watch.h"
#include "live/lease/speed_learning.h"
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
  // Recovers the state from the journal. Serves only in run().
  static Result<std::unique_ptr<Manager>> open(ManagerSettings settings);

  // Before run(). The runner must outlive run().
  void use(Hands& hands) { hands_ = &hands; }
  const Instance& instance() const { return instance_; }
  // Leases that should be on the nodes: all others there must be ended.
  std::vector<std::pair<LiveId, std::uint32_t>> leases() const;

  // Decides until stop(). An error: the disk has failed; what was acknowledged is safe.
  Refusal run();
  void stop();
  // What happened to leases and nodes.
  void news(std::vector<Input> news) { inbox_.add(std::move(news)); }
  // Replaces the settings, because nodes were added or changed. As after a restart, they take
  // effect when all running jobs fit them.
  void change_settings(std::string scheduling, std::vector<NodeNotes> nodes) {
    inbox_.change_settings({std::move(scheduling), std::move(nodes)});
  }

  void call(Caller caller, Call call, std::function<void(Answer)> done) override {
    inbox_.add({std::move(caller), std::move(call), std::move(done)});
  }
  void watch(std::function<void(Notes)> news) override { notes_->watch(std::move(news)); }

 private:
  struct Waiter {  // For the next commit.
    Done done;
    Answer answer;
  };

  Manager(ManagerSettings settings, Recovered recovered);
  ReadContext read_context();
  QuerySettings query_settings();

  Duration time_to_next_turn() const;
  Refusal run_until_stopped();
  Refusal turn();
  std::vector<Input> take_work();  // Sorts the calls; returns the inputs of this turn.
  void command(PendingCall pending, std::vector<Input>& inputs);
  void answer_reads();
  void decide(std::vector<Input> inputs);
  void step(std::span<const Input> inputs);
  void note_step();
  void put_rows();
  Refusal commit();
  Refusal commit_and_act();
  void refuse_calls();  // While the journal cannot be written.
  void act();
  void order_again();  // After a restart.
  void set_limits();

  Refusal begin_eras(bool needs_era);
  Refusal adapt();
  Refusal use_learned_profiles();
  Refusal take_new_settings();
  Refusal clean_up(Instant now);

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
  JobCommands commands_;
  Hands* hands_ = nullptr;
  Inbox inbox_;

  std::vector<Order> orders_;  // This and the next two: of this turn, until its commit.
  std::vector<Waiter> waiters_;
  std::vector<PendingCall> reads_;
  std::vector<Waiter> profile_waiters_;  // For their profiles to be used.
  bool lease_ended_ = false;             // Since settings were last adapted.
  std::size_t ended_since_trim_ = 0;
  Instant next_cleaning_;
  Queries queries_;  // Last: its threads use the rest.
};

}  // namespace muster
