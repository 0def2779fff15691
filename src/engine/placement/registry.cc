#include "engine/placement/registry.h"

#include "engine/placement/consolidate.h"
#include "engine/placement/first_fit.h"
#include "engine/placement/random.h"
#include "engine/placement/skew.h"
#include "engine/placement/yarn.h"

namespace muster {

namespace {

constexpr Entry<Placer> kPlacements[] = {
    {"count", "all GPUs as one pool; where they are does not matter", &make_part<Placer, Count>},
    {"first-fit", "the lowest-numbered GPUs with enough CPU and memory beside them",
     &make_part<Placer, FirstFit>},
    {"consolidate", "fewest servers, then the tightest fit", &make_part<Placer, Consolidate>},
    {"yarn", "one server, or whole idle servers of one rack; otherwise wait (Tiresias)",
     &make_part<Placer, Yarn>},
    {"skew", "as consolidate, but models with a dominating tensor wait for the fewest (Tiresias)",
     &make_part<Placer, Skew>},
    {"random", "any free GPUs, by a seeded draw", &make_part<Placer, RandomPlacer>},
};

}  // namespace

std::span<const Entry<Placer>> placements() { return kPlacements; }

}  // namespace muster
