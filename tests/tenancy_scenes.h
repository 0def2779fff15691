#pragma once

// Small random workloads of a few tenants. tenancy_stage.h runs them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "base/types/random.h"
#include "engine/mechanism/registry.h"
#include "engine/placement/registry.h"
#include "engine/policy/registry.h"
#include "sim/run/simulator.h"
#include "workload/input/profiles_file.h"

namespace muster {

// The built-in models, so that mechanisms can use different profiles.
inline const ProfileTable& scene_profiles() {
  static const ProfileTable profiles = builtin_profiles();
  return profiles;
}

struct Scene {
  Topology topology;
  TenantTree tenants;
  Trace trace;
  SimOptions options;  // Without the tenants, because their address differs in each copy.

  SimOptions with_tenants() const {
    SimOptions all = options;
    all.tenants = &tenants;
    return all;
  }
};

class SceneMaker {
 public:
  explicit SceneMaker(std::uint64_t seed) : random_(Random(seed).fork("scene")), seed_(seed) {}

  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound)));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class T>
  T any(std::initializer_list<T> all) {
    return all.begin()[below(static_cast<std::int64_t>(all.size()))];
  }

  // The random values that are drawn before the tenants and the trace.
  struct Setting {
    SimOptions options;
    TenantRules rules;
    bool nested = false;  // The first two tenants have a parent.
  };
  Setting setting() {
    Setting drawn;
    SimOptions& options = drawn.options;
    options.parts.policy = policies()[seed_ % policies().size()].name;
    options.parts.mechanism = one_in(5) ? "tune" : "proportional";
    const std::int64_t placement = below(static_cast<std::int64_t>(placements().size()));
    options.parts.placement = placements()[static_cast<std::size_t>(placement)].name;
    if (!one_in(3)) options.min_run = Duration::seconds(1 + below(600));
    if (one_in(2)) options.overheads = {Duration(), Duration(), Duration()};
    if (one_in(4)) options.round = Duration::seconds(any({60, 300}));
    options.checkpoint_interval = Duration::seconds(any({60, 100, 300}));
    options.seed = seed_;
    drawn.rules.sharing = any({Sharing::kQuota, Sharing::kQuota, Sharing::kWeight, Sharing::kFair});
    drawn.rules.reclaim_permille = any({900, 900, 900, 0, 500, 1000});
    drawn.nested = one_in(3);
    return drawn;
  }

  Scene scene() { return scene(setting()); }
  Scene scene(const Setting& setting) {
    const char* const cluster = any({"1x8", "2x4", "4x4", "3x8", "2x8,racks=2", "5x2"});
    Topology topology = parse_cluster_shorthand(cluster).value();
    const std::int32_t gpus = topology.total().gpus;
    TenantTree tree = tenants(gpus, setting);
    Trace trace = workload(25, gpus);
    return {std::move(topology), std::move(tree), std::move(trace), setting.options};
  }

 private:
  // Returns two to four tenants with jobs. The sum of quotas is at most the cluster; some are zero.
  TenantTree tenants(std::int64_t gpus, const Setting& setting) {
    TenantList list;
    list.rules = setting.rules;
    const std::int64_t count = 2 + below(3);
    std::int64_t left = gpus;
    for (std::int64_t i = 0; i < count; ++i) {
      TenantSpec spec;
      spec.name = "t" + std::to_string(i);
      spec.weight_milli = static_cast<std::int32_t>(500 + below(3000));
      const std::int64_t even = left / (count - i);
      std::int64_t part = one_in(6) ? 0 : std::min(left, even / 2 + below(even + 2));
      if (i + 1 == count && left == gpus) part = left;  // At least one tenant has a quota.
      left -= part;
      if (setting.rules.sharing == Sharing::kQuota) spec.quota = part;
      if (count > 2 && i < 2 && setting.nested) spec.parent = "lab";
      list.tenants.push_back(spec);
    }
    if (count > 2 && setting.nested) {
      list.tenants.emplace_back();
      list.tenants.back().name = "lab";
    }
    names_ = static_cast<std::size_t>(count);
    return TenantTree::build(list).value();
  }

  Trace workload(std::size_t jobs, std::int64_t gpus) {
    Trace trace;
    std::int64_t submit = 0;
    for (std::size_t i = 0; i < jobs; ++i) {
      TraceJob job;
      job.id = std::to_string(i);
      if (!one_in(3)) submit += below(200);
      job.submit = Instant::at(Duration::seconds(submit));
      job.duration = Duration::seconds(5 + below(one_in(5) ? 4000 : 900));
      job.gpus = static_cast<std::int32_t>(
          std::min(gpus, one_in(8) ? 1 + below(gpus) : any({1, 1, 2, 2, 3, 4, 4, 6, 8})));
      const ProfileId model(static_cast<std::size_t>(below(
          static_cast<std::int64_t>(scene_profiles().size()))));  // Includes the unknown profile.
      job.model = trace.models.intern(scene_profiles()[model].name());
      job.user = trace.users.intern("u" + std::to_string(below(3)));
      job.tenant =
          trace.tenants.intern("t" + std::to_string(below(static_cast<std::int64_t>(names_))));
      job.name = trace.names.intern("n" + std::to_string(below(4)));
      trace.jobs.push_back(std::move(job));
    }
    return trace;
  }

  Random random_;
  std::uint64_t seed_;
  std::size_t names_ = 0;
};

}  // namespace muster
