#include "mechanism/registry.h"

#include <array>

#include "mechanism/blend.h"
#include "mechanism/greedy.h"
#include "mechanism/opt.h"
#include "mechanism/proportional.h"
#include "mechanism/tune.h"

namespace muster {

namespace {

template <class T>
Owned<Mechanism> make() {
  return std::make_unique<T>();
}

constexpr std::array<Entry<Mechanism>, 5> kMechanisms = {{
    {"proportional", "CPU and memory in proportion to GPUs", &make<Proportional>},
    {"greedy", "each job its best-case demand, or it waits (Synergy-Greedy)", &make<Greedy>},
    {"tune", "best-case demand where it fits, never below the proportional share (Synergy-Tune)",
     &make<Tune>},
    {"opt", "the most any mechanism could give, as if the cluster were one server (Synergy-Opt)",
     &make<Opt>},
    {"blend", "spare CPU and memory where they add most, jobs moved where that frees more",
     &make<Blend>},
}};

}  // namespace

std::span<const Entry<Mechanism>> mechanisms() { return kMechanisms; }

}  // namespace muster
