#include "placement/registry.h"

#include <array>

#include "placement/consolidate.h"
#include "placement/first_fit.h"
#include "placement/random.h"
#include "placement/skew.h"
#include "placement/yarn.h"

namespace muster {

namespace {

template <class T>
Owned<Placer> make() {
  return std::make_unique<T>();
}

constexpr std::array<Entry<Placer>, 6> kPlacements = {{
    {"count", "all GPUs as one pool; where they are does not matter", &make<Count>},
    {"first-fit", "the lowest-numbered GPUs with enough CPU and memory beside them",
     &make<FirstFit>},
    {"consolidate", "fewest servers, then the tightest fit", &make<Consolidate>},
    {"yarn", "one server, or whole idle servers of one rack; otherwise wait (Tiresias)",
     &make<Yarn>},
    {"skew", "as consolidate, but models with a dominating tensor wait for the fewest (Tiresias)",
     &make<Skew>},
    {"random", "any free GPUs, by a seeded draw", &make<RandomPlacer>},
}};

}  // namespace

std::span<const Entry<Placer>> placements() { return kPlacements; }

}  // namespace muster
