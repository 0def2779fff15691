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
//   manager_foresee.cc  when they start, for lists
//   manager_screens.cc  what the dashboard draws
//   manager_page.cc     one job, whole
//   manager_retry.cc    a job that is over, once more
//   manager_whys.cc     what they want to know of the future
//   manager_past.cc     and of the past
//   manager_reports.cc  what running jobs say of themselves
//   manager_profile.cc  what is found out about jobs' speeds
//   manager_recover.cc  the way back after a restart, snapshots, forgetting

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
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
  // Simulates the past under another scheduler: a page as JSON, see api/service.h. Called on a
  // thread of its own, never twice at once; ends soon when told not to go on. None: not asked.
  std::function<Result<std::string>(const ShowWhatIf&, const std::function<bool()>& go_on)> what_if;
  // After which it is told so: before the server has given up on the answer.
  Duration what_if_time = kAnswerTime - Duration::seconds(10);
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

  struct Bands {  // Of all who wait, made at one instant.
    Instant made;
    std::map<LiveId, std::pair<JobId, Band>> of;  // Void if the job has another row by now.
  };

  struct Foretold {  // To the roster, of a job.
    Instant next;    // Not before.
    Instant next_speed;
    double left = -1;  // Seconds, as last said; below zero: never.
    Duration ran;      // By then.
  };

  explicit Manager(ManagerSettings settings) : settings_(std::move(settings)) {}

  // manager.cc
  bool wait();       // False: to end.
  Refusal run_on();  // Until it is told to stop, or cannot go on.
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
  // The ids of the new jobs, or why there are none.
  std::variant<std::vector<LiveId>, Answer> take_in(const std::string& user, JobRequest request,
                                                    const std::string& key,
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
  // manager_retry.cc
  void retry(const Caller& caller, const std::string& job, std::function<void(Answer)> done,
             std::vector<Input>& inputs);
  std::variant<JobRequest, Answer> request_of(LiveId id);
  // manager_looks.cc
  Answer answer(const Caller& caller, const Call& call);
  Answer show(const Caller& caller, const ShowJob& call);
  std::variant<nlohmann::json, Answer> whole_view(const FoundJob& found);
  Answer find_log(const Caller& caller, const FindLog& call);
  Answer events(const Caller& caller, const ListEvents& call);
  // Who waits for GPUs, in the order in which the scheduler comes to them.
  struct Line {
    std::vector<JobId> jobs;           // Without those that are about to start.
    std::vector<std::uint32_t> place;  // By row, from 1; 0, or none: not told.
    Instant made = Instant::never();
    Instant step;
    std::uint64_t events = 0;

    std::uint32_t of(const LiveJob& job) const {
      return job.row && job.row->index() < place.size() ? place[job.row->index()] : 0;
    }
  };
  // manager_lists.cc
  struct ActiveList;
  struct ListDraft;
  using StateCounts = std::map<std::string, std::uint64_t>;
  void list(Pending pending);
  Answer list(const Caller& caller, const ListJobs& call);
  Answer list_array(const ListJobs& call);
  ActiveList list_active(const ListJobs& call);
  nlohmann::json view_now(const JobRow& row) const;
  std::variant<ListDraft, Answer> begin_list(const Caller& caller, ListJobs call);
  Answer finish_list(ListDraft& draft, JobReader& reader);
  static JobFilter ended_filter(const ListDraft& draft);
  Result<StateCounts> count_ended(const ListDraft& draft, JobReader& reader);
  Refusal add_ended(ListDraft& draft, JobReader& reader);
  void forget_counts();  // Of those that are over: there is one more, or fewer.
  // manager_foresee.cc
  void foresee_starts();
  std::vector<JobId> next_to_start();
  const Line& line_now();
  std::shared_ptr<const Bands> bands_now();  // Nothing: none lately.
  std::optional<nlohmann::json> band_of(const LiveJob& job, const Bands& bands) const;
  // manager_screens.cc
  Answer me(const Caller& caller) const;
  Answer fleet(const Caller& caller);
  Answer nodes(const Caller& caller) const;
  void remember_of_nodes(const EventRow& event);
  // manager_page.cc
  struct PageDraft;
  void page(Pending pending);
  Answer page(const Caller& caller, const ShowWholeJob& call);
  std::variant<PageDraft, Answer> begin_page(const Caller& caller, const ShowWholeJob& call);
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

  // manager_past.cc
  static bool is_look_back(const Call& call);
  void look_back(Pending pending);
  void what_if(Pending pending);

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
  Refusal open_readers(const std::string& file);
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
  std::optional<JobReader> lookup_reader_;  // Of the thread of lookups_ alone.
  std::optional<Roster> roster_;
  std::optional<ProgressReader> progress_;
  std::vector<Learnt> learnt_;
  bool learnt_changed_ = false;          // Since it was last decided by.
  std::vector<Waiter> profile_waiters_;  // For it to be kept.
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
  std::shared_ptr<const Bands> bands_;  // Guarded by told_mutex_. Made anew, never changed.
  Line line_;
  Instant lists_watched_;  // When somebody last wanted bands with a list.
  Instant next_bands_;     // Not before.
  Instant banded_step_;    // The last step before those that were asked for last.
  // Those over, by what was asked (user, tenant, search), until one more is. Guarded by
  // told_mutex_.
  std::map<std::tuple<std::string, std::string, std::string>, StateCounts> ended_counts_;
  std::uint64_t ended_generation_ = 0;                    // The same.
  std::map<std::string, std::deque<EventRow>> of_nodes_;  // The last few of each server.
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
  std::string blocked_;  // Why nothing can be written; empty if it can.
  std::atomic<bool> what_if_runs_ = false;
  Forecaster forecaster_;  // Last, as are these: their threads use the rest.
  Forecaster lookups_;     // Lists that take long to find, and files of a job's page.
  Forecaster historian_;   // Timelines and usage, which take longer.
  Forecaster what_ifs_;    // And these longest.
};

}  // namespace muster
