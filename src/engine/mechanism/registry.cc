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
    {"greedy", "each job its best-case demand, or it waits (Synergy-Greedy)",
     &make_part<Mechanism, Greedy>},
    {"tune", "best-case demand where it fits, never below the proportional share (Synergy-Tune)",
     &make_part<Mechanism, Tune>},
    {"opt", "the most any mechanism could give, as if the cluster were one server (Synergy-Opt)",
     &make_part<Mechanism, Opt>},
    {"blend", "spare CPU and memory where they add most, jobs moved where that frees more",
     &make_part<Mechanism, Blend>},
};

}  // namespace

std::span<const Entry<Mechanism>> mechanisms() { return kMechanisms; }

}  // namespace muster
