#include "sim/run/simulator.h"

#include <fmt/format.h>

#include "base/text/text.h"
#include "base/types/check.h"
#include "engine/policy/registry.h"
#include "sim/run/simulation.h"

namespace muster {

SimResult simulate(const Trace& trace, const Topology& topology, const ProfileTable& profiles,
                   const SimOptions& options) {
  MUSTER_CHECK(!check_parts(options.parts));
  MUSTER_CHECK(!traits_of(options.compat).whole_iterations || options.round > Duration());
  return Simulation(trace, topology, profiles, options).run();
}

MaybeError check_swaps(const SimOptions& options) {
  if (options.whole.index() != 0) return std::nullopt;
  const auto policy = find_entry(policies(), "policy", options.parts.policy).value()->make({});
  if (!policy->traits().drifts || traits_of(options.compat).ideal_machine) return std::nullopt;
  const Duration tick = options.round > Duration() ? options.round : options.quantum;
  const Duration cost =
      options.overheads.checkpoint + options.overheads.restart + options.overheads.migration;
  if (cost < tick) return std::nullopt;
  return Error{fmt::format(
      "{} may stop and start jobs every {}, which takes {}, so they make no progress; use "
      "longer rounds or smaller overheads",
      options.parts.policy, short_duration(tick), short_duration(cost))};
}

MaybeError check_tenants(const Trace& trace, const TenantTree& tenants) {
  for (const TraceJob& job : trace.jobs) {
    const Result<TenantId> found = tenants.tenant_of_job(trace.tenants[job.tenant]);
    if (found.ok()) continue;
    return Error{trace.source + ": job " + in_quotes(job.id) + ": " + found.error().message};
  }
  return std::nullopt;
}

}  // namespace muster
