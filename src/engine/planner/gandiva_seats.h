#pragma once

// Gandiva's view of GPU ownership while it plans. A seat is the GPUs of one gang with all jobs that
// hold them. Provides the affinity of each node, seats that a job could join, and jobs that could
// move. It makes no decisions; GandivaFloor reports every change.

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/job.h"
#include "engine/core/placer.h"

namespace muster {

class GpuSeats {
 public:
  using Row = std::uint32_t;  // Index of a seat; reused after the last member leaves.
  struct Seat {
    std::vector<JobId> members;  // In order of arrival; empty if the row is unused.
    Placement placement;
    std::int32_t gpus = 0;
    SharingMode manner = SharingMode::kTimeSliced;

    bool shared() const { return members.size() > 1; }
    bool packed() const { return shared() && manner == SharingMode::kPacked; }
    bool is_time_sliced() const { return shared() && manner == SharingMode::kTimeSliced; }
  };

  // `cluster` must outlive this object.
  explicit GpuSeats(const Cluster& cluster);

  void sit(JobId job, Placement placement);  // Creates a new seat.
  void join(JobId job, Row row, SharingMode manner);
  void leave(JobId job);
  void set_manner(Row row, SharingMode manner);

  bool has(JobId job) const { return row_of_.contains(job) && row_of_[job] != kNowhere; }
  Row row_of(JobId job) const { return row_of_[job]; }
  const Seat& of(JobId job) const { return seats_[row_of_[job]]; }
  const Seat& operator[](Row row) const { return seats_[row]; }
  std::size_t rows() const { return seats_.size(); }

  // True if the node's affinity is the size class of a gang with `gpus` GPUs. A size class is the
  // number of GPUs rounded up to a power of two, at most the largest node. A node's affinity is the
  // class that holds most of it; the larger class in a tie.
  bool has_affinity(NodeId node, std::int32_t gpus) const;
  const std::vector<Row>& on(NodeId node) const { return on_[node]; }
  // Number of held GPUs on one node, and in total.
  std::int32_t held(NodeId node) const;
  std::int32_t held() const { return held_in_all_; }

  // Lone and time-sliced seats, by GPUs and number of members. No set is empty.
  using Levels = std::map<std::pair<std::int32_t, std::size_t>, std::set<Row>>;
  const Levels& levels() const { return levels_; }
  using Packed = std::map<std::int32_t, std::set<Row>>;  // Packed seats by GPUs. No set is empty.
  const Packed& packed() const { return packed_; }
  const std::set<Row>& spread() const { return spread_; }   // Seats on several nodes.
  std::size_t time_sliced() const { return time_sliced_; }  // Number of time-sliced seats.

  std::uint64_t version() const { return version_; }  // Increases with every change.

 private:
  static constexpr Row kNowhere = ~Row{0};
  static constexpr std::size_t kClasses = 7;  // 1, 2, ... 64 GPUs.

  std::size_t class_of(std::int32_t gpus) const;
  void list(Row row);
  void unlist(Row row);
  void occupy(Row row);
  void vacate(Row row);

  const Cluster* cluster_;
  std::vector<Seat> seats_;
  std::vector<Row> unused_;
  IdVector<JobId, Row> row_of_;
  IdVector<NodeId, std::vector<Row>> on_;
  IdVector<NodeId, std::array<std::int32_t, kClasses>> held_;  // GPUs by class.
  std::int32_t held_in_all_ = 0;
  Levels levels_;
  Packed packed_;
  std::set<Row> spread_;
  std::size_t time_sliced_ = 0;
  std::uint64_t version_ = 1;
};

// Places a gang on one node. Order: nodes with its affinity, most free GPUs first; idle nodes,
// smallest first; other nodes, fewest free GPUs first. Returns false and clears `out` if none fits.
bool place_together(const Cluster& cluster, const ResourceLedger& ledger, const GpuSeats& seats,
                    const Demand& demand, Placement& out);

// Places a gang on several nodes: as few as possible, in one rack if possible.
bool place_spread(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                  Placement& out);

// Tries place_together(), then place_spread().
bool place_anyhow(const Cluster& cluster, const ResourceLedger& ledger, const GpuSeats& seats,
                  const Demand& demand, Placement& out);

}  // namespace muster
