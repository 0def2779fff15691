#pragma once

// Our own mechanism. Every job starts at the least that keeps it as fast as its proportional share;
// what is left of each server's CPU and memory goes where it adds the most speed, over the whole of
// the jobs' profiles; and jobs change places between servers where their neighbours then gain more.
// Starts from tune's plan and keeps whichever is better, so it never gives less in total than tune.

#include "engine/core/mechanism.h"
#include "engine/mechanism/server_solver.h"

namespace muster {

class Blend final : public Mechanism {
 public:
  bool adaptive() const override { return true; }
  void place(const Cluster& cluster, const Placer& placer, const Books& books,
             Ask& ask) const override;
  void rebalance(const Cluster& cluster, const Placer& placer, Books& books, std::span<Ask> asks,
                 Fidelity fidelity) override;

 private:
  ServerSolver solver_;
};

}  // namespace muster
