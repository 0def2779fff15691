#include "engine/mechanism/registry.h"

#include "engine/mechanism/blend.h"
#include "engine/mechanism/greedy.h"
#include "engine/mechanism/opt.h"
#include "engine/mechanism/proportional.h"
#include "engine/mechanism/tune.h"

namespace muster {

namespace {

constexpr Entry<Mechanism> kMechanisms[] = {
    {"proportional", "CPU and memory in proportion to GPUs", &make_part<Mechanism, Proportional>},
    {"greedy", "best-case demand; a job waits until it fits (Synergy-Greedy)",
     &make_part<Mechanism, Greedy>},
    {"tune", "best-case demand if it fits, never slower than the proportional share (Synergy-Tune)",
     &make_part<Mechanism, Tune>},
    {"opt", "upper bound for all mechanisms, with the cluster as one node (Synergy-Opt)",
     &make_part<Mechanism, Opt>},
    {"blend", "spare CPU and memory go where they add the most speed; jobs move if that helps",
     &make_part<Mechanism, Blend>},
};

}  // namespace

std::span<const Entry<Mechanism>> mechanisms() { return kMechanisms; }

}  // namespace muster
