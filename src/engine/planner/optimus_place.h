#pragma once

// Where Optimus puts a gang: in equal numbers on the fewest servers, which no other placement beats
// (engine/fit/spread.h; the parameter servers sit beside the workers, so only those are counted).
// Only where no equal numbers are to be had it takes what there is, from the emptiest servers
// first. A function of the books.

#include <cstdint>

#include "engine/core/books.h"
#include "engine/core/cluster.h"

namespace muster {

// Fills `out` with so many GPUs of one type, and each server's proportional share of the rest, on
// what is free and on what the job itself holds now; or returns false and leaves it empty. A job
// stays on its servers, and on its GPUs there, unless others would do with fewer servers: it has to
// be restarted either way.
bool place_evenly(const Cluster& cluster, const Books& books, std::int32_t gpus, GpuTypeId type,
                  const Placement& held, Placement& out);

}  // namespace muster
