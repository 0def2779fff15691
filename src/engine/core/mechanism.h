#pragma once

// How much CPU and memory each job gets beside its GPUs, in agreement with a Placer on where.

#include <cstdint>
#include <span>
#include <string>

#include "engine/core/cluster.h"
#include "engine/core/placer.h"

namespace muster {

// One job that should run, in a call to Mechanism::rebalance.
struct Ask {
  JobId job;
  const JobSpec* spec = nullptr;
  const Placement* held = nullptr;  // Where it runs now; nullptr for a new one.
  std::uint64_t salt = 0;           // For Demand::salt.
  // Servers a new place must not be on, since its last attempt failed there; see State::avoided.
  std::span<const NodeId> avoid = {};
  Placement given;  // Out: empty if no place was found.
};

// The proportional share, or what the job asks for at the least where that is more. No mechanism
// gives less of anything than it can take back later up to this.
Demand fair_demand(const Ask& ask);

// Whose version of a mechanism to run: ours, or the published simulator's with its quirks, for
// comparison with its results. The latter serves the asks strictly in the order given.
enum class Fidelity : std::uint8_t { kOurs, kPublished };

class Mechanism {
 public:
  virtual ~Mechanism() = default;

  // A mechanism that revises what running jobs hold whenever the set of jobs changes. The others
  // leave running jobs alone and are only asked to place().
  virtual bool adaptive() const { return false; }

  // CPU and memory as if the cluster were one server (a bound, not a schedule).
  virtual Pooling pooling() const { return Pooling::kPerNode; }

  // Whether two jobs of equal GPU count and type may fit differently because of their profiles.
  virtual bool depends_on_profile() const { return false; }

  // Gives one new job a place on what is free, or leaves ask.given empty. Nobody else is touched.
  virtual void place(const Cluster& cluster, const Placer& placer, const Books& books,
                     Ask& ask) const = 0;

  // Adaptive ones: gives every ask its place and share. `books` is what is free for all of them
  // together (what they hold counted as free); take from it what is given. There may be more asks
  // than GPUs; those that find no room stay empty. A job that runs must not end up slower than at
  // its proportional share, nor with less than its JobSpec::least.
  virtual void rebalance(const Cluster& cluster, const Placer& placer, Books& books,
                         std::span<Ask> asks, Fidelity fidelity);
};

}  // namespace muster
