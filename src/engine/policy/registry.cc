#include "engine/policy/registry.h"

#include <type_traits>

#include "engine/policy/backfill.h"
#include "engine/policy/drf.h"
#include "engine/policy/fifo.h"
#include "engine/policy/fit_first.h"
#include "engine/policy/ftf.h"
#include "engine/policy/gittins.h"
#include "engine/policy/las.h"
#include "engine/policy/mlfq_gittins.h"
#include "engine/policy/mlfq_las.h"
#include "engine/policy/sjf.h"
#include "engine/policy/smallest_first.h"
#include "engine/policy/srsf.h"
#include "engine/policy/srtf.h"
#include "engine/policy/tetris.h"

namespace muster {

namespace {

template <class T>
Owned<Policy> make(const PolicyOptions& options) {
  if constexpr (std::is_constructible_v<T, const PolicyOptions&>) {
    return std::make_unique<T>(options);
  } else {
    return std::make_unique<T>();
  }
}

constexpr PolicyEntry kPolicies[] = {
    {"fifo", "oldest first; no job overtakes one that does not fit", &make<Fifo>},
    {"fit-first", "oldest first among the jobs that fit", &make<FitFirst>},
    {"backfill", "oldest first with a reservation; others start if they do not delay it (EASY)",
     &make<Backfill>},
    {"smallest-first", "fewest GPUs first, preemptive", &make<SmallestFirst>},
    {"sjf", "shortest estimate first, not preemptive", &make<Sjf>},
    {"srtf", "shortest remaining time first, preemptive", &make<Srtf>},
    {"srsf", "shortest remaining GPU time first, preemptive", &make<Srsf>},
    {"las", "least GPU time received first, preemptive at ticks; needs no estimate", &make<Las>},
    {"mlfq-las", "queues by GPU time received, oldest first in each (Tiresias' 2D-LAS), preemptive",
     &make<MlfqLas>},
    {"gittins", "largest Gittins index of GPU time first, preemptive at ticks; needs no estimate",
     &make<Gittins>},
    {"mlfq-gittins",
     "queues as in mlfq-las, largest Gittins index first in each; needs no estimate",
     &make<MlfqGittins>},
    {"ftf", "worst finish-time fairness first (Themis), preemptive at ticks", &make<Ftf>},
    {"drf", "smallest dominant share received first, preemptive at ticks; needs no estimate",
     &make<Drf>},
    {"tetris", "best alignment with the free nodes, weighed against remaining work", &make<Tetris>},
};

}  // namespace

std::span<const PolicyEntry> policies() { return kPolicies; }

}  // namespace muster
