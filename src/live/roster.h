#pragma once

// The live manager's mind: the jobs people submitted and the engine that schedules them, as one
// machine of states. It reads no clock and does no I/O: the same inputs at the same instants always
// give the same orders and the same digest, which is how the manager finds its state again from its
// journal, and how a test shows that live and simulated are one.
//
// What is about jobs but not about scheduling is here: holds, dependencies, arrays, pre-runs, time
// limits. A job is with the engine only while nothing but GPUs stands in its way.
//
//   roster.cc           the step, what comes in from people, the way to the engine and back
//   roster_looks.cc     what can be asked of it
//   roster_leases.cc    what the engine orders, and what becomes of leases
//   roster_nodes.cc     servers that take no jobs, or are shared with others
//   roster_picture.cc   a copy to try things out on
//   roster_reactions.cc what is done about failures: retries, quarantine, siblings that are held
//   roster_reports.cc   what jobs say of themselves
//   roster_snapshot.cc  the whole as text, and back, into a new engine
//   roster_story.cc     what people are told of a plan: what stops a job, and for whom one stops

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "core/engine.h"
#include "live/input.h"
#include "live/live_job.h"
#include "model/profile.h"
#include "model/tenants.h"
#include "model/topology.h"
#include "scheduler/scheduler.h"

namespace muster {

struct Picture;

struct RosterSettings {
  Topology topology;
  ProfileTable profiles;
  std::optional<TenantTree> tenants;
  PlannerOptions planner;  // Its tenants are those above.
  EngineOptions engine;
  Duration quarantine = Duration::seconds(600);  // Of a server, until it is tested.
  bool uses_profiles = false;                    // The mechanism goes by them.
  std::size_t learnt = 0;  // So many of the profiles, the last, are of jobs; see learnt.h.
};

// What to do about a lease. Orders may be given twice; a lease runs at most once.
struct Order {
  enum class Kind : std::uint8_t { kStart, kStop, kResize, kTest };
  Kind kind = Kind::kStart;
  LiveId id = 0;
  std::uint32_t lease = 0;
  Placement placement;  // Of kStart and kResize.
  bool trial = false;
  Duration time_limit;    // Of kStart; zero: none.
  std::string node = {};  // Of kTest, which is about a server: a NodeTestInput must follow.
};

// A server that takes no jobs because it failed some, until it passes a test.
struct NodeQuarantine {
  std::string why;  // For people.
  Instant since;
  Instant until;    // When it is tested.
  Duration period;  // Doubles with each test that fails.
  bool testing = false;
  std::string test;  // How the last test failed; empty: there was none.
};

// A server that is not all ours to use, as whoever runs leases there said last.
struct NodeCondition {
  bool usable = true;
  std::string why;  // For people, if it is not.
  Instant since;    // When that was first said.
  Resources taken;  // Held by others.
};

struct RosterNote {
  LiveId id = 0;  // 0: not about a job.
  std::string kind;
  std::string words;
  std::string facts = {};  // What the plan went by, as a JSON object; empty: none.
  std::string full = {};   // The words with others' jobs named, for operators; empty: the same.
};

// A lease that is over, for the tables.
struct LeaseRecord {
  LiveId id = 0;
  LiveLease lease;
  LeaseOverInput end;
};

class Roster {
 public:
  explicit Roster(RosterSettings settings);

  // Why nobody could run this here; nothing if somebody could. For submitters.
  Refusal refuse(const JobRequest& request, const std::string& tenant) const;

  // Applies the inputs at `now`, which never goes back. What came of it is to be had until the next
  // step: orders, notes, the jobs that changed and the leases that ended.
  void step(Instant now, std::span<const Input> inputs);
  std::span<const Order> orders() const { return orders_; }
  std::span<const RosterNote> notes() const { return notes_; }
  std::span<const LiveId> touched() const { return touched_; }  // In order, each once.
  std::span<const LeaseRecord> over() const { return over_; }

  // Jobs that are not over, and those that ended in the last step.
  const std::map<LiveId, LiveJob>& jobs() const { return jobs_; }
  const LiveJob* find(LiveId id) const;
  LiveId live_of(JobId row) const { return live_of_[row.index()]; }  // Of the engine's.
  LiveState state_of(const LiveJob& job) const;
  // Jobs the engine wants to have running, whether they do yet or not.
  std::vector<LiveId> placed() const;
  std::string where(const Placement& placement) const;  // "node-1:0-1,node-2:3"

  // As a request would look to the engine, without making anybody known to it.
  JobSpec imagine(const JobRequest& request, const std::string& user,
                  const std::string& tenant) const;
  Picture picture(Instant now) const;

  // Whether anybody decides by what jobs report: by how long they still take, or how fast they are.
  bool wants_time_left() const;
  bool wants_speeds() const { return engine_->wants_reports() != Reports::kNone; }

  Instant now() const { return now_; }
  Instant wake() const;  // When to step with a TickInput; never() if not.
  std::string digest() const;
  const Engine& engine() const { return *engine_; }
  const RosterSettings& settings() const { return world_->settings; }
  std::optional<NodeId> find_node(std::string_view name) const;
  std::optional<GpuTypeId> find_gpu_type(std::string_view name) const;
  bool is_drained(NodeId node) const;
  const std::map<NodeId, NodeQuarantine>& quarantines() const { return quarantines_; }
  // Of servers that are as they should be there is none.
  const std::map<NodeId, NodeCondition>& conditions() const { return conditions_; }
  bool is_usable(NodeId node) const;
  // Whether it would make no difference, since it is what was said last or about nobody.
  bool knows(const NodeStateInput& input) const;
  bool knows(const LeaseNoteInput& input) const;
  std::size_t rows() const { return live_of_.size(); }  // Of the engine, jobs long over included.

  // Everything, as JSON of one line: restore() on a new roster, perhaps with other settings, goes
  // on from there. Gives the leases that could not be kept there: stop them, wait until they are
  // over, and try again without them (`gone`).
  std::string snapshot() const;
  Result<std::vector<Order>> restore(std::string_view snapshot,
                                     std::span<const std::pair<LiveId, std::uint32_t>> gone = {});

 private:
  // What the engine points to, so it must not move.
  struct World {
    explicit World(RosterSettings given);
    RosterSettings settings;
    Cluster cluster;
  };
  struct Line {  // Of an array with a limit.
    std::int32_t active = 0;
    std::deque<LiveId> waiting;
  };
  struct Dependent {
    LiveId id = 0;
    bool wants_ok = false;
  };
  // Jobs of one array, or of one user and name.
  using Siblings = std::pair<LiveId, std::string>;
  struct Streak {  // How the last of them ended.
    std::optional<Reason> reason;
    std::int32_t failed = 0;  // In a row, for that reason.
    bool any_good = false;    // One has ended well; of arrays only.
  };
  struct Known {
    std::string user;
    std::string tenant;
    std::string name;
    std::int32_t gpus = 1;
    Duration work;
    Instant submitted;
  };

  void apply(const SubmitInput& input);
  void apply(const CancelInput& input);
  void apply(const HoldInput& input);
  void apply(const ReleaseInput& input);
  void apply(const TickInput&) {}  // Every step that comes late enough is one.
  void forget_ended();
  void tell_dependents(LiveId id);
  void run_engine();
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
  JobSpec spec_of(const JobRequest& request, const std::string& user, const std::string& tenant,
                  bool trial) const;
  JobRestored as_it_was(const LiveJob& job);
  void touch(LiveId id);
  void note(const LiveJob& job, const char* kind, std::string words);

  // roster_leases.cc
  void apply(const LeaseUpInput& input);
  void apply(const LeaseOverInput& input);
  void apply(const SavedInput& input);
  void apply(const ProfiledInput& input);
  void apply(const LeaseNoteInput& input);
  void carry_out(const Action& action);
  void start(LiveJob& job, const Action& action);
  void resize(LiveJob& job, JobId row);
  void end_lease(LiveJob& job, const LeaseOverInput& input, Duration ran);
  void end_trial(LiveJob& job, const LeaseOverInput& input);
  void give_up_lease(LiveJob& job, Epoch epoch, LiveState end, const std::string& why);
  void remember(const LiveJob& job);

  // roster_reports.cc
  void apply(const ReportInput& input);
  Past past_of(JobId row) const;  // What the engine knows of it.

  // roster_nodes.cc
  void apply(const DrainInput& input);
  void apply(const NodeStateInput& input);
  bool is_shut(NodeId node) const;  // For one reason or another it takes no jobs.
  void open_unless_shut(NodeId node);
  std::string conditions_json() const;
  void restore_conditions(std::string_view text);

  // roster_reactions.cc
  void apply(const NodeTestInput& input);
  void tell_reactions();
  void tell(const Aftermath& reaction, LiveJob& job);
  void begin_quarantine(const Quarantine& quarantine);
  void test_quarantined();
  void lose_lease(LiveJob& job, Epoch epoch);
  std::string over_memory(const Placement& placement) const;
  static Siblings siblings_of(const LiveJob& job);
  void watch_siblings(const LiveJob& ended);
  void hold_siblings();
  void note_of_node(NodeId node, const char* kind, const std::string& words);

  // roster_snapshot.cc
  void restore_links();

  // roster_story.cc
  struct Names;
  struct RoomNow;
  struct NewWait {
    LiveId id = 0;
    std::uint64_t plans = 0;  // Only after more plans than these it is known what stops it.
  };
  void begin_wait(LiveJob& job, Duration pause = Duration());
  void tell_blocked(LiveJob& job);
  void tell_waits();
  void tell_wait(LiveJob& job, RoomNow& room);
  void tell_promise(LiveJob& job);
  void say_wait(LiveJob& job, const char* cause, std::string facts, std::string words,
                std::string full);
  void tell_start(LiveJob& job, const Placement& placement);
  void tell_stop(LiveJob& job);
  const LiveJob* find_gainer(JobId stopped) const;
  WaitCause cause_now(JobId row) const;
  Names names_for(const LiveJob& reader, const LiveJob& other) const;

  std::shared_ptr<const World> world_;
  std::unique_ptr<Engine> engine_;
  std::vector<LiveId> live_of_;  // By JobId.
  std::map<std::string, std::uint32_t> users_;
  std::map<std::string, std::uint32_t> names_;
  std::map<LiveId, LiveJob> jobs_;
  std::map<LiveId, Line> lines_;                         // By array.
  std::map<LiveId, std::vector<Dependent>> dependents_;  // By the job they wait for.
  std::vector<std::uint8_t> drained_;                    // By node: closed by a person.
  std::map<NodeId, NodeQuarantine> quarantines_;
  std::map<NodeId, NodeCondition> conditions_;
  std::map<Siblings, Streak> streaks_;
  std::vector<LiveId> last_straws_;  // Whose siblings are to be held.
  std::deque<Known> known_;          // Latest ends, for estimates.
  std::vector<LiveId> ended_;        // In this step.
  std::size_t told_ = 0;             // Of those, whose dependents know.
  std::vector<NewWait> new_waits_;   // To be told what they wait for.
  std::map<LiveId, LiveId> gains_;   // In this step: who is promised whose GPUs.
  std::uint64_t plans_told_ = 0;     // How many of the engine's plans have been told of.

  Instant now_;
  Instant wake_ = Instant::never();
  Digest digest_;
  std::vector<Event> events_;
  std::vector<Order> orders_;
  std::vector<RosterNote> notes_;
  std::vector<LiveId> touched_;
  std::vector<LeaseRecord> over_;
};

}  // namespace muster
