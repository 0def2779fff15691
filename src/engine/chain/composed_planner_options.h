#pragma once

// Settings of a Chain, fixed when it is created.

#include <cstdint>

#include "base/types/time.h"
#include "engine/model/tenants.h"

namespace muster {

struct ChainOptions {
  std::uint64_t seed = 0;
  // Forget every placement and rebuild all of them at each plan, in policy order, as Synergy's own
  // simulator does. Only for comparison with it: it migrates without need.
  bool rebuild = false;
  // Between jobs of equal rank under a policy whose ranks improve, prefer the one that has stood at
  // that rank for longer, even over a running one. This is what re-sorting one list stably at every
  // event comes to, as Tiresias' simulator does; and under one whose ranks drift, the older job, as
  // its paper does. Ours leaves the running job alone.
  bool stable_ties = false;
  // Who shares the cluster; none: nobody has a quota. Must outlive the chain.
  const TenantTree* tenants = nullptr;
  // A job that holds GPUs is not stopped for another before it has held them this long.
  Duration min_run;
  // How often a running job saves its work: what it did since would be lost with its GPUs.
  Duration checkpoint_interval = Duration::seconds(300);
};

}  // namespace muster
