#pragma once

// Which job is on which server, as blend improves it: an assignment, the speed each server makes of
// it, and the exchanges that raise the sum. Scratch data of one rebalance.

#include <cstdint>
#include <span>
#include <vector>

#include "base/types/random.h"
#include "engine/core/mechanism.h"
#include "engine/mechanism/server_solver.h"

namespace muster {

class Packing {
 public:
  // `asks` hold, in `given`, a placement for every job that runs; `books` is what is free for all
  // of them together. Jobs on several servers stay where they are.
  Packing(const Cluster& cluster, const Books& books, std::span<Ask> asks, ServerSolver& solver);

  // Raises the sum of speeds by exchanging jobs between servers, and then by emptying and refilling
  // a few servers at a time, up to an effort that grows with the number of servers and newcomers.
  void improve();

  // Whether every server's jobs fit on it, by what the solver found. If not, do not write().
  bool feasible() const;

  // Writes the placements and shares found back to `given`.
  void write();

 private:
  struct Server {
    NodeId node;
    std::int64_t cpu_milli = 0;  // For jobs that are on this server alone.
    std::int64_t mem_mib = 0;
    std::int32_t free_gpus = 0;
    Books::Room for_rights;           // What all but the spanning jobs could have a right to.
    std::vector<std::uint32_t> jobs;  // Asks, on this server alone.
    double speed = 0;
    double best = 0;  // If everyone on it had all it could use.
    double missing() const { return best - speed; }
  };
  struct Exchange {
    std::vector<std::uint32_t> from_a, from_b;  // Asks that change sides.
    double gain = 0;
  };

  JobKind kind_on(std::uint32_t ask, const Server& server) {
    return solver_.kind(*asks_[ask].spec, server.node);
  }
  bool may_go(std::uint32_t ask, const Server& server) const {
    const std::optional<GpuTypeId> type = asks_[ask].spec->gpu_type;
    return (!type || cluster_.topology().node(server.node).gpu_type == *type) &&
           !is_among(asks_[ask].avoid, server.node);
  }
  std::int32_t gpus(std::span<const std::uint32_t> jobs) const;
  void reckon(Server& server);
  // The speed of a server with some jobs gone and others come; below zero if they do not fit.
  double speed_with(const Server& server, std::span<const std::uint32_t> without,
                    std::span<const std::uint32_t> with);
  bool rights_fit(const Server& server, std::span<const std::uint32_t> without,
                  std::span<const std::uint32_t> with) const;
  void consider(const Server& a, const Server& b, std::vector<std::uint32_t> from_a,
                std::vector<std::uint32_t> from_b, Exchange& best);
  // One ask of each kind on the server, one that does not run yet if there is any.
  std::vector<std::uint32_t> samples(const Server& server);
  // Jobs of the server that together have exactly so many GPUs, each fewer than that: the most
  // modest of them, the hungriest, or some of both.
  enum class Pick : std::uint8_t { kModest, kHungry, kMixed };
  std::vector<std::uint32_t> bundle(const Server& server, std::int32_t gpus, Pick pick);
  bool exchange_best(Server& a, Server& b);
  void trade();
  // Empties a few servers and fills them again in another order; true if that was better.
  bool reshuffle(std::span<const std::uint32_t> picked, Random& random);
  void shake();
  double move_cost(std::uint32_t ask, const Server& server) const;
  void raise_spanning();

  const Cluster& cluster_;
  std::span<Ask> asks_;
  ServerSolver& solver_;
  bool pooled_;
  bool particular_ = false;  // Some job asks for CPU or memory.
  std::vector<Server> servers_;
  std::vector<std::uint32_t> spanning_;  // Asks on several servers.
  std::vector<Books::Room> spare_;       // By server, after write() has dealt out.
  std::vector<SlotMask> usable_;         // By node: slots that are these jobs' to use.
  std::vector<JobKind> kinds_;           // Buffer.
  std::uint64_t trials_ = 0;
  std::uint64_t most_trials_ = 0;
};

}  // namespace muster
