#pragma once

// Gandiva's migrations: running jobs that are moved to where they, or others, are better off. All
// who share a seat are moved together. Nobody is moved who has not held its GPUs for a slice and
// its minimum time, and no more at a time than the plan has moves left.

#include "engine/planner/gandiva_floor.h"

namespace muster {

// While GPUs are idle: somebody of the seats that most jobs share gets some of its own.
void rebalance(Pen pen, GandivaFloor& floor);

// Starts a waiting job on one server that smaller ones are moved away from, to GPUs that are idle
// elsewhere. False, and nothing changed, if there is no such server.
bool defragment(Pen pen, GandivaFloor& floor, JobId job, const Demand& demand);

// While GPUs are idle: gangs that are spread over more servers than need be come together; and
// those that run clearly slower than believed get away from their neighbours.
void gather(Pen pen, GandivaFloor& floor);

// Spread gangs that change places with smaller ones, to be together on one server: one a slice.
class GandivaExchange {
 public:
  void attempt(Pen pen, GandivaFloor& floor);

 private:
  Instant attempt_at_;     // Not before.
  Seats::Row cursor_ = 0;  // They are tried in turn.
};

}  // namespace muster
