#pragma once

// Driver 2: the live manager. One thread decides: it takes what people ask and what became of
// leases, lets the roster step, writes entry and tables to the journal in one commit, and only then
// gives the orders and the answers. Whatever kills it, the journal and the leases' records say
// where it was.
//
//   calls, news -> Roster::step -> Journal::commit -> orders, answers, notes
//
//   manager.cc          the loop
//   manager_calls.cc    what people want done
//   manager_looks.cc    what people want to see
//   manager_lists.cc    jobs, in order
//   manager_whys.cc     what they want to know of the future
//   manager_reports.cc  what running jobs say of themselves
//   manager_profile.cc  what is found out about jobs' speeds
//   manager_recover.cc  the way back after a restart, snapshots, forgetting

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/service.h"
#include "base/result.h"
#include "live/explain.h"
#include "live/forecaster.h"
#include "live/hands.h"
#include "live/instance.h"
#include "live/launch.h"
#include "live/learnt.h"
#include "live/profiler.h"
#include "live/progress.h"
#include "live/roster.h"
#include "live/views.h"
#include "store/job_reader.h"
#include "store/journal.h"

namespace muster {

// Of one entry; the journal takes a mebibyte. One input must not be more.
inline constexpr std::size_t kMostEntryBulk = 900U << 10U;
inline constexpr std::uint64_t kMostListedNotes = 10'000;  // The latest, of all jobs.

struct ManagerSettings {
  std::string home;
  std::string scheduling;  // See settings.h; another one than before holds when it can.
  std::vector<NodeNotes> nodes;
  LaunchSettings launch;                               // The instance is filled in.
  std::vector<std::string> node_test = {"/bin/true"};  // What a server must pass to return.
  Duration retention = Duration::seconds(30 * 86'400);
  Duration progress_every = Duration::seconds(2);
  bool profile = true;  // Find out about the speed of jobs nobody has measured.
  // How. Imports and evaluations take their time.
  SessionOptions profiling = {.patience = Duration::seconds(600), .budget = Duration::seconds(900)};
  std::size_t most_queued = 100'000;
  std::size_t most_queued_per_user = 50'000;
  std::size_t snapshot_every = 20'000;  // Entries, or jobs in them.
  std::function<void(const std::string&)> log;
};

class Manager final : public Service {
 public:
  // Finds its state again from the journal. Not serving yet: see run().
  static Result<std::unique_ptr<Manager>> open(ManagerSettings settings);

  // Before run(); the hands outlive the manager's run.
  void use(Hands& hands) { hands_ = &hands; }
  const Instance& instance() const { return instance_; }
  // Leases that should be on the machine: everything else there is to be ended.
  std::vector<std::pair<LiveId, std::uint32_t>> leases() const;

  // Decides until stop(). An error: the disk has failed; what was acknowledged is safe.
  Refusal run();
  void stop();                         // From any thread.
  void news(std::vector<Input> news);  // From the hands' thread.
  // Other settings than those it was opened with, as servers come or change; from any thread. They
  // hold as after a restart: when everything that runs fits them, and until then the old ones do.
  void change_settings(std::string scheduling, std::vector<NodeNotes> nodes);

  void call(Caller caller, Call call, std::function<void(Answer)> done) override;
  void watch(std::function<void(Notes)> news) override;

 private:
  struct Pending {
    Caller caller;
    Call call;
    std::function<void(Answer)> done;
  };
  struct Waiter {
    std::function<void(Answer)> done;
    Answer answer;
  };

  struct Told {
    JobId row;  // Of the job then: in another it has been held or has lost its place meanwhile.
    Instant asked;
    Forecast forecast;
  };

  struct Foretold {  // To the roster, of a job.
    Instant next;    // Not before.
    Instant next_speed;
    double left = -1;  // Seconds, as last said; below zero: never.
    Duration ran;      // By then.
  };

  explicit Manager(ManagerSettings settings) : settings_(std::move(settings)) {}

  // manager.cc
  bool wait();  // False: to end.
  Refusal turn();
  void answer_reads();
  void decide(std::vector<Input> inputs);
  void step(std::span<const Input> inputs);
  void count_towards_snapshot(std::span<const Input> inputs);
  void note_step();
  void take_notes(const Roster& roster);
  void keep_notes(std::size_t first);
  void put_rows();
  Refusal commit();
  void act();
  void complain(const std::string& words) const;

  // manager_calls.cc
  bool is_read(const Call& call) const;
  void ask(Pending pending, std::vector<Input>& inputs);
  void submit(const Caller& caller, SubmitJob& call, std::function<void(Answer)> done,
              std::vector<Input>& inputs);
  std::vector<LiveId> ids_from(LiveId first, const std::vector<Input>& inputs);
  Refusal resolve_dependencies(const Caller& caller, JobRequest& request,
                               const std::vector<Input>& inputs);
  void change(const Caller& caller, const std::string& job, const Call& call,
              std::function<void(Answer)> done, std::vector<Input>& inputs);
  std::variant<const char*, Answer> change_job(const Caller& caller, const LiveJob& job,
                                               const Call& call, std::vector<Input>& inputs);
  void change_array(const Caller& caller, const std::string& text, const Call& call,
                    std::function<void(Answer)> done, std::vector<Input>& inputs);
  void change_node(const Caller& caller, const std::string& node, bool open,
                   std::function<void(Answer)> done, std::vector<Input>& inputs);
  struct FoundJob {
    LiveId id = 0;
    std::string user;
  };
  // Or an answer that says why not.
  enum class Match : std::uint8_t { kWhole, kBeginning };
  std::variant<FoundJob, Answer> find_job(const Caller& caller, const std::string& text,
                                          Match match = Match::kBeginning);
  // manager_looks.cc
  Answer answer(const Caller& caller, const Call& call);
  Answer show(const Caller& caller, const ShowJob& call);
  Answer find_log(const Caller& caller, const FindLog& call);
  Answer events(const Caller& caller, const ListEvents& call);
  // manager_lists.cc
  Answer list(const Caller& caller, ListJobs call);
  Answer list_array(const ListJobs& call);
  std::vector<const LiveJob*> list_active(const ListJobs& call) const;
  nlohmann::json view_now(const JobRow& row) const;
  // manager_whys.cc
  void explain(Pending pending);
  void plan(Pending pending);
  nlohmann::json story_of(const LiveJob& job) const;
  Answer story_of(const JobRow& row) const;
  void ask_about_somebody();
  void judge_forecasts();
  // One of after the last step, no older than a second; with a job, one in which that waits in
  // this row.
  std::shared_ptr<const Picture> picture_with(LiveId id = 0, JobId row = {});
  Reader reader_for(const Caller& caller) const { return {caller, errors_, *clock_}; }
  void keep_forecast(LiveId id, const Told& told);

  // manager_profile.cc
  void look_at_speeds(std::vector<Input>& inputs);
  void set_limits();
  void let_speeds_go();
  Refusal decide_by_what_was_learnt();
  void keep_profile(const Caller& caller, const KeepProfile& call,
                    std::function<void(Answer)> done);
  Answer list_profiles(const Caller& caller) const;

  Answer health() const;
  Answer metrics() const;

  // manager_reports.cc
  void look_at_progress(std::vector<Input>& inputs);
  void report_ends(std::vector<Input>& inputs);
  std::optional<ReportInput> report_of(const LiveJob& job, bool at_once);
  bool is_news(const LiveJob& job, const Remaining& left);
  Duration ran_by_now(const LiveJob& job) const;

  // manager_recover.cc
  Refusal recover();
  Refusal refuse_old_leases() const;
  Refusal replay(Roster& roster, std::uint64_t after);
  Refusal begin_era(const Roster& roster);
  Refusal adapt();
  void drop_what_is_known(std::vector<Input>& inputs);
  Refusal take_up_settings();
  void take_up_leases();
  void keep_house();
  void forget_old();
  HandOrder hand_order(const Order& order) const;

  ManagerSettings settings_;
  std::string in_force_;  // The settings the roster decides by.
  std::string said_of_settings_;
  std::optional<std::vector<NodeNotes>> next_nodes_;   // Of the settings that are to come.
  std::map<std::string, NodeStateInput> node_states_;  // As last told, of servers to come too.
  Instance instance_;
  std::optional<LiveClock> clock_;
  std::optional<Journal> journal_;
  std::optional<JobReader> reader_;
  std::optional<Roster> roster_;
  std::optional<ProgressReader> progress_;
  std::vector<Learnt> learnt_;
  bool learnt_changed_ = false;  // Since it was last decided by.
  std::optional<Profiler> profiler_;
  Hands* hands_ = nullptr;

  std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<Pending> calls_;  // Guarded, as are the next four.
  std::vector<Input> news_;
  std::optional<std::pair<std::string, std::vector<NodeNotes>>> changed_settings_;
  bool ending_ = false;
  std::function<void(Notes)> watcher_;

  std::mutex told_mutex_;
  std::map<LiveId, Told> told_;  // Guarded by the mutex above: of jobs that have not started.
  Errors errors_;
  std::map<LiveId, Foretold> foretold_;
  Instant next_question_;
  std::shared_ptr<const Picture> last_picture_;  // Large, so those who ask together share one.
  Instant pictured_step_;  // The last step before it: after another one it is out of date.

  // Of the turn at hand, until it is committed.
  std::vector<Order> orders_;
  std::vector<Waiter> waiters_;
  std::vector<Pending> reads_;
  std::vector<Note> fresh_notes_;
  std::uint64_t last_note_ = 0;
  std::map<std::string, std::size_t> per_user_;  // Jobs that are not over.
  bool lease_ended_ = false;                     // In this turn.
  std::size_t since_snapshot_ = 0;
  std::size_t ended_since_trim_ = 0;
  std::uint64_t submitted_ = 0;
  std::uint64_t ended_[4] = {};  // By LiveState from kDone.
  Instant next_look_;
  Instant next_speed_look_;
  Instant next_housekeeping_;
  std::string blocked_;    // Why nothing can be written; empty if it can.
  Forecaster forecaster_;  // Last: its thread uses the rest.
};

}  // namespace muster
