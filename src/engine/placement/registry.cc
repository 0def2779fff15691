#include "engine/placement/registry.h"

#include "engine/placement/consolidate.h"
#include "engine/placement/first_fit.h"
#include "engine/placement/random.h"
#include "engine/placement/skew.h"
#include "engine/placement/yarn.h"

namespace muster {

namespace {

constexpr Entry<Placer> kPlacements[] = {
    {"count", "all GPUs as one pool, without regard to nodes", &make_part<Placer, Count>},
    {"first-fit", "the lowest-numbered GPUs with enough CPU and memory",
     &make_part<Placer, FirstFit>},
    {"consolidate", "minimum number of nodes, then the tightest fit",
     &make_part<Placer, Consolidate>},
    {"yarn", "one node, or whole idle nodes of one rack; otherwise wait (Tiresias)",
     &make_part<Placer, Yarn>},
    {"skew",
     "as consolidate, but only models of known, low skew use more than the minimum (Tiresias)",
     &make_part<Placer, Skew>},
    {"random", "any free GPUs, chosen at random with a fixed seed",
     &make_part<Placer, RandomPlacer>},
};

}  // namespace

std::span<const Entry<Placer>> placements() { return kPlacements; }

}  // namespace muster
