#include "sim/run/preparation.h"

#include <fmt/format.h>

#include "base/text/text.h"
#include "base/types/check.h"
#include "engine/policy/registry.h"

namespace muster {

namespace {

constexpr Duration kStaticSpan = Duration::seconds(1);

}  // namespace

ProfileTable profiles_for(const ProfileTable& profiles, Compat compat) {
  if (compat != Compat::kSynergy) return profiles;
  ProfileTable references;
  for (std::size_t i = 1; i < profiles.size(); ++i) {
    MUSTER_CHECK(references.add(profiles[ProfileId(i)].scalar_reference()).ok());
  }
  return references;
}

Instant first_round(const Trace& trace, const SimOptions& options) {
  if (options.compat != Compat::kSynergy || trace.jobs.empty()) return Instant();
  // Synergy starts a static workload after one second, and others at the round after the first job.
  const Instant first = trace.jobs.front().submit;
  if (trace.jobs.back().submit < Instant() + kStaticSpan) return Instant() + kStaticSpan;
  const std::int64_t round = options.round.us();
  return Instant::micros((first.us() + round - 1) / round * round);
}

MaybeError check_swaps(const SimOptions& options) {
  if (options.whole.index() != 0) return std::nullopt;
  const auto policy = find_entry(policies(), "policy", options.parts.policy).value()->make({});
  if (!policy->traits().drifts || options.compat != Compat::kNone) return std::nullopt;
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
