#pragma once

// Gandiva's scheduler (Xiao et al., OSDI 2018): a job starts at once if there is any way, if need
// be by taking turns on GPUs that others hold; and what was done in haste is mended by looking at
// how fast jobs really run. CPU and memory are always the proportional share.
//
// A waiting job, the oldest of the tenant whose turn it is, gets the first of these that there is:
//   1  a server with its affinity (that gangs of its size are on), the least loaded
//   2  a server that nobody is on
//   3  any server with enough idle GPUs; one that small jobs are moved away from; several servers
//   4  what grown jobs give back
//   5  what its tenant has lent
//   6  turns with the fewest others that hold exactly as many GPUs, or with two that are packed on
//      them and take turns from then on
//
// Idle GPUs that nobody of those waiting could use go to members of crowded seats, to gangs that
// are spread, and to elastic jobs (gandiva_moves.h, gandiva_growth.h). While GPUs are held in
// turns, pairs of jobs are tried at the same time (gandiva_packs.h).
//
// Nobody starves: who has waited for longer than a while has younger jobs stopped in its favour, so
// that from then on it waits for older ones alone (gandiva_room.h).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/planner.h"
#include "engine/model/pairs.h"
#include "engine/planner/gandiva_floor.h"
#include "engine/planner/gandiva_growth.h"
#include "engine/planner/gandiva_moves.h"
#include "engine/planner/gandiva_packs.h"
#include "engine/planner/gandiva_room.h"

namespace muster {

struct GandivaOptions {
  Duration slice = Duration::seconds(60);  // Of jobs that take turns; and how long a trial lasts.
  std::int32_t most_jobs = 4;              // On one GPU, taking turns. At least 1.
  const PairTable* pairs = nullptr;        // Which jobs fit together; null: no packing.
  const TenantTree* tenants = nullptr;     // Must outlive the planner, like `pairs`.
  Duration min_run;                        // As ChainOptions::min_run.
};

class Gandiva final : public Planner {
 public:
  // `cluster` must outlive it.
  Gandiva(const Cluster& cluster, const GandivaOptions& options);

  std::optional<std::string> refuse(const JobSpec& spec) override;
  void enqueue(const View& view, JobId job) override;
  void forget(const View& view, JobId job, Farewell farewell) override;
  void plan(const View& view, Draft& draft, Occasion occasion) override;
  bool drifts() const override { return false; }
  Instant review_at() const override;
  Reports wants_reports() const override { return Reports::kChanged; }
  using Planner::observe;
  void observe(const View& view, const JobReported& report) override;
  WaitSplit waited(JobId job, Instant now) const override;

 private:
  using Group = GandivaQueue::Group;

  void admit_all(Pen pen, bool own);
  bool worth_a_try(Pen pen, const Group& group, bool own) const;
  bool admit(Pen pen, const Group& group, bool own);
  std::vector<Demand> demands_of(const JobSpec& spec, JobId job, bool own) const;
  bool start_on_idle(Pen pen, JobId job, const Demand& demand);
  bool can_join(const Group& group) const;
  bool join_somebody(Pen pen, JobId job);
  bool join_seat(Pen pen, JobId job, Seats::Row row);

  const Cluster* cluster_;
  std::size_t most_jobs_;
  GandivaFloor floor_;
  GandivaRoom room_;
  GandivaExchange exchange_;
  GandivaGrowth growth_;
  GandivaPacks packs_;
  Instant last_plan_;
  bool requeued_ = false;  // Somebody was stopped by the last plan.
};

}  // namespace muster
