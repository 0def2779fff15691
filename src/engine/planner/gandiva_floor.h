#pragma once

// What the parts of Gandiva's scheduler have in common: who waits, who sits where, and the pen with
// which both are changed in step with the draft. It carries out and decides nothing.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <vector>

#include "engine/core/draft.h"
#include "engine/core/event.h"
#include "engine/planner/gandiva_queue.h"
#include "engine/planner/gandiva_seats.h"

namespace muster {

// One plan in the making.
struct Pen {
  const View& view;
  Draft& draft;

  Instant now() const { return view.now(); }
  const Books& books() const { return draft.books(); }
  const JobSpec& spec(JobId job) const { return view.spec(job); }
};

class GandivaFloor {
 public:
  // Moves cost the jobs that are moved, so a plan moves no more than these: enough to clear a
  // usual server of jobs with one GPU each.
  static constexpr int kMostMoves = 8;
  // A trial lasts a slice, and so many more at most while not all has been reported.
  static constexpr std::int32_t kMoreSlices = 3;

  // Both must outlive it; `tenants` may be null.
  GandivaFloor(const Cluster& cluster, const TenantTree* tenants, Duration slice, Duration min_run);

  const Cluster& cluster() const { return *cluster_; }
  const Seats& seats() const { return seats_; }
  GandivaQueue& queue() { return queue_; }
  const GandivaQueue& queue() const { return queue_; }
  Duration slice() const { return slice_; }
  Duration min_run() const { return min_run_; }

  // Between plans, as Planner's functions of these names.
  void enqueue(const View& view, JobId job);
  void forget(const View& view, JobId job);
  void observe(const JobReported& report);

  void begin_plan(const Books& books);
  // What follows changes the draft too. Where the draft refuses, nothing is changed, the servers
  // are suspect of being closed, and the answer is false.
  bool start(Pen pen, JobId job, Placement placement);
  bool join(Pen pen, JobId job, Seats::Row row);  // In turns.
  bool move(Pen pen, JobId job, Placement placement);
  // Leaves those it shares with for a job that is alone, to run at the same time.
  bool pack(Pen pen, JobId job, Seats::Row row);
  void set_manner(Pen pen, Seats::Row row, Together manner);
  // All who sit there go to these places at once.
  struct Shift {
    Seats::Row row;
    Placement place;
  };
  bool rearrange(Pen pen, const std::vector<Shift>& shifts);
  // Starts a waiting job where these sit, who wait again.
  bool start_instead(Pen pen, JobId job, Placement placement, const std::vector<Seats::Row>& rows);
  // Some of it is on a server that seems to be closed. Nobody says which are, but what becomes free
  // there is not to be had; so of one that is full it is not known.
  bool is_suspect(const Placement& placement) const;

  static Demand demand_of(const JobSpec& spec);
  static Demand demand_of(Pen pen, const Seats::Seat& seat);
  static bool is_grown(Pen pen, const Seats::Seat& seat);
  bool suits(const JobSpec& spec, const Placement& placement) const;
  // It has had its GPUs that long, not counting changes pencilled in this plan.
  bool has_held(const View& view, JobId job, Duration time) const;
  // It has had them long enough to be moved, and nothing is being tried with it.
  bool may_move(const View& view, JobId job) const;

  int moves_left() const { return moves_left_; }
  void spend_moves(int moves) { moves_left_ -= moves; }
  // Something would be possible now but for the time it takes, or for what was not reported yet.
  void look_again() { look_again_ = true; }
  bool shall_look_again() const { return look_again_; }

  // Of a job that is seated: since when it is planned to be there; its speed as it said itself, in
  // the place and company it has now.
  Instant placed(JobId job) const { return tickets_[job].placed; }
  std::optional<double> reported(JobId job) const { return tickets_[job].reported; }
  // Something is tried with these jobs, under a number of its own. It is over as soon as the place
  // or company of one of them changes; then, as before, its number is 0.
  std::uint32_t begin_trial(std::initializer_list<JobId> jobs);
  void end_trial(std::initializer_list<JobId> jobs);
  std::uint32_t trial(JobId job) const { return tickets_[job].trial; }
  // Of the jobs that hold GPUs, those that may have more than they asked for, and those that have.
  const std::set<JobId>& elastic() const { return elastic_; }
  const std::set<JobId>& grown() const { return grown_; }

 private:
  struct Ticket {
    Instant placed;
    std::optional<double> reported;
    std::uint32_t trial = 0;
  };
  // Those of a seat while they hold nothing, and all that it takes to put them back.
  struct Lifted {
    std::vector<JobId> members;
    std::vector<Ticket> tickets;
    Together manner;
    Placement placement;
  };
  Lifted lift(Pen pen, Seats::Row row);
  bool set_down(Pen pen, const Lifted& lifted, const Placement& placement);
  void put_back(Pen pen, const Lifted& lifted);
  bool refused(const Placement& placement);
  void seated(const View& view, JobId job);
  void leave(JobId job);
  void company_changed(Seats::Row row);

  const Cluster* cluster_;
  Duration slice_;
  Duration min_run_;
  GandivaQueue queue_;
  Seats seats_;
  IdVector<JobId, Ticket> tickets_;
  std::set<JobId> elastic_;
  std::set<JobId> grown_;
  std::set<NodeId> suspects_;
  std::uint32_t last_trial_ = 0;
  int moves_left_ = 0;
  bool look_again_ = false;
};

}  // namespace muster
