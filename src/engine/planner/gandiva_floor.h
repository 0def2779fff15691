#pragma once

// State shared by the parts of Gandiva's scheduler: the queue and the seats, and functions that
// change them together with the draft. It makes no decisions.

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

// The view and the draft of one plan.
struct PlanWriter {
  const View& view;
  Draft& draft;

  Instant now() const { return view.now(); }
  const ResourceLedger& ledger() const { return draft.ledger(); }
  const JobSpec& spec(JobId job) const { return view.spec(job); }
};

class GandivaFloor {
 public:
  // Maximum moves per plan, because a move costs the job time. Enough to clear a typical node of
  // 1-GPU jobs.
  static constexpr int kMaxMoves = 8;
  // Maximum extra slices of a trial while reports are missing.
  static constexpr std::int32_t kMoreSlices = 3;

  // `cluster` and `tenants` must outlive it; `tenants` may be nullptr.
  GandivaFloor(const Cluster& cluster, const TenantTree* tenants, Duration slice, Duration min_run);

  const Cluster& cluster() const { return *cluster_; }
  const GpuSeats& seats() const { return seats_; }
  GandivaQueue& queue() { return queue_; }
  const GandivaQueue& queue() const { return queue_; }
  Duration slice() const { return slice_; }
  Duration min_run() const { return min_run_; }

  // Called between plans, as the Planner functions of the same names.
  void enqueue(const View& view, JobId job);
  void forget(const View& view, JobId job);
  void observe(const JobReported& report);

  void begin_plan(const View& view);
  // The following functions also change the draft. If the draft rejects the change, they change
  // nothing, mark the nodes as suspected unschedulable, and return false.
  bool start(PlanWriter pen, JobId job, Placement placement);
  bool join(PlanWriter pen, JobId job, GpuSeats::Row row);  // Time-sliced.
  bool move(PlanWriter pen, JobId job, Placement placement);
  // Moves a time-sliced job to the seat of a lone job, packed with it.
  bool pack(PlanWriter pen, JobId job, GpuSeats::Row row);
  void set_manner(PlanWriter pen, GpuSeats::Row row, SharingMode manner);
  // Moves all members of seat `from` to seat `into`, where all are time-sliced.
  bool merge(PlanWriter pen, GpuSeats::Row from, GpuSeats::Row into);
  // Moves all members of each seat to the new place, all at the same time.
  struct Shift {
    GpuSeats::Row row;
    Placement place;
  };
  bool rearrange(PlanWriter pen, const std::vector<Shift>& shifts);
  // A waiting job replaces a member of a time-sliced seat, which then waits again.
  bool swap(PlanWriter pen, JobId member, JobId job);
  // Starts a waiting job on the GPUs of these seats. Their members are stopped and wait again.
  bool start_instead(PlanWriter pen, JobId job, Placement placement,
                     const std::vector<GpuSeats::Row>& rows);
  // True if a node of the placement is unschedulable or has GPUs that are neither free nor held.
  bool is_suspect(const Placement& placement) const;

  static Demand demand_of(const JobSpec& spec);
  static Demand demand_of(PlanWriter pen, const GpuSeats::Seat& seat);
  static bool is_grown(PlanWriter pen, const GpuSeats::Seat& seat);
  bool suits(const JobSpec& spec, const Placement& placement) const;
  // True if the job has held its GPUs for `time`, ignoring changes drafted in this plan.
  bool has_held(const View& view, JobId job, Duration time) const;
  // True if the job has held its GPUs long enough to be moved and is not in a trial.
  bool may_move(const View& view, JobId job) const;

  int moves_left() const { return moves_left_; }
  void spend_moves(int moves) { moves_left_ -= moves; }
  // Requests another plan soon, because an action only lacks run time or a report.
  void look_again() { look_again_ = true; }
  bool shall_look_again() const { return look_again_; }

  // For a seated job: the time of the plan that placed it, and its reported speed on its current
  // seat with its current members.
  Instant placed(JobId job) const { return tickets_[job].placed; }
  std::optional<double> reported(JobId job) const { return tickets_[job].reported; }
  // Starts a trial with these jobs and returns its id. The trial ends when the seat or the members
  // of one of them change; trial() is 0 without a trial.
  std::uint32_t begin_trial(std::initializer_list<JobId> jobs);
  void end_trial(std::initializer_list<JobId> jobs);
  std::uint32_t trial(JobId job) const { return tickets_[job].trial; }
  // Seated jobs that may grow beyond their request, and seated jobs that have grown.
  const std::set<JobId>& elastic() const { return elastic_; }
  const std::set<JobId>& grown() const { return grown_; }

 private:
  struct Ticket {
    Instant placed;
    std::optional<double> reported;
    std::uint32_t trial = 0;
  };
  // The members of a cleared seat, with everything needed to restore it.
  struct Lifted {
    std::vector<JobId> members;
    std::vector<Ticket> tickets;
    SharingMode manner;
    Placement placement;
  };
  Lifted lift(PlanWriter pen, GpuSeats::Row row);
  bool set_down(PlanWriter pen, const Lifted& lifted, const Placement& placement);
  void put_back(PlanWriter pen, const Lifted& lifted);
  bool refused(const Placement& placement);
  void seated(const View& view, JobId job);
  void leave(JobId job);
  void company_changed(GpuSeats::Row row);

  const Cluster* cluster_;
  Duration slice_;
  Duration min_run_;
  GandivaQueue queue_;
  GpuSeats seats_;
  IdVector<JobId, Ticket> tickets_;
  std::set<JobId> elastic_;
  std::set<JobId> grown_;
  std::set<NodeId> suspects_;
  std::uint32_t last_trial_ = 0;
  int moves_left_ = 0;
  bool look_again_ = false;
};

}  // namespace muster
