#pragma once

// Which GPUs are held by whom, alone or together, as Gandiva's scheduler sees it while it plans: a
// seat is the GPUs of one gang with everybody that holds them. From that follow the affinity of
// each server, where one more job could join, and who could be moved. It is told of every change
// and decides nothing.

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

class Seats {
 public:
  using Row = std::uint32_t;  // Of a seat. Used again when nobody holds it any more.
  struct Seat {
    std::vector<JobId> members;  // In the order they came; none if the row is not in use.
    Placement placement;
    std::int32_t gpus = 0;
    Together manner = Together::kTurns;

    bool shared() const { return members.size() > 1; }
    bool packed() const { return shared() && manner == Together::kPacked; }
    bool takes_turns() const { return shared() && manner == Together::kTurns; }
  };

  // `cluster` must outlive it.
  explicit Seats(const Cluster& cluster);

  void sit(JobId job, Placement placement);  // On GPUs of its own.
  void join(JobId job, Row row, Together manner);
  void leave(JobId job);
  void set_manner(Row row, Together manner);

  bool has(JobId job) const { return row_of_.contains(job) && row_of_[job] != kNowhere; }
  Row row_of(JobId job) const { return row_of_[job]; }
  const Seat& of(JobId job) const { return seats_[row_of_[job]]; }
  const Seat& operator[](Row row) const { return seats_[row]; }
  std::size_t rows() const { return seats_.size(); }

  // The class of a gang: its GPUs rounded up to a power of two, or a whole server if that is less.
  // A server's affinity is the class that holds most of it, of two the larger.
  bool has_affinity(NodeId node, std::int32_t gpus) const;
  const std::vector<Row>& on(NodeId node) const { return on_[node]; }
  // GPUs that somebody holds: of a server, and of all.
  std::int32_t held(NodeId node) const;
  std::int32_t held() const { return held_in_all_; }

  // Seats that one holds alone or several in turns, by GPUs and number of members. No set is empty.
  using Levels = std::map<std::pair<std::int32_t, std::size_t>, std::set<Row>>;
  const Levels& levels() const { return levels_; }
  using Packed = std::map<std::int32_t, std::set<Row>>;  // By GPUs. No set is empty.
  const Packed& packed() const { return packed_; }
  const std::set<Row>& spread() const { return spread_; }  // Over several servers.
  std::size_t in_turns() const { return in_turns_; }       // Seats that several hold in turns.

  std::uint64_t version() const { return version_; }  // Another one after every change.

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
  std::size_t in_turns_ = 0;
  std::uint64_t version_ = 1;
};

// A gang on one server: of its affinity, the one with most left; else one that nobody is on, the
// smallest; else the one with least left. False, and `out` empty, if no server has it.
bool place_together(const Cluster& cluster, const Books& books, const Seats& seats,
                    const Demand& demand, Placement& out);

// A gang on several servers, as few as it can be done with, of one rack if it can.
bool place_spread(const Cluster& cluster, const Books& books, const Demand& demand, Placement& out);

// The one or the other.
bool place_anyhow(const Cluster& cluster, const Books& books, const Seats& seats,
                  const Demand& demand, Placement& out);

}  // namespace muster
