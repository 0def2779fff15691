#include "sim/run/simulator.h"

#include "base/types/check.h"
#include "sim/run/simulation.h"

namespace muster {

SimResult simulate(const Trace& trace, const Topology& topology, const ProfileTable& profiles,
                   const SimOptions& options) {
  MUSTER_CHECK(!check_parts(options.parts));
  MUSTER_CHECK(options.compat != Compat::kSynergy || options.round > Duration());
  return Simulation(trace, topology, profiles, options).run();
}

}  // namespace muster
