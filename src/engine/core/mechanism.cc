#include "engine/core/mechanism.h"

#include <utility>

#include "base/types/digest.h"

namespace muster {

Demand fair_demand(const Ask& ask) {
  const JobSpec& spec = *ask.spec;
  return {spec.gpus, spec.gpu_type, std::nullopt, spec.profile,
          ask.salt,  ask.avoid,     spec.least,   spec.spread};
}

void Mechanism::rebalance(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger,
                          std::span<Ask> asks) {
  for (Ask& ask : asks) {
    place(cluster, placer, ledger, ask);
    for (const Share& share : ask.given) ledger.take(share);
  }
}

Ask ask_for(const View& view, JobId job, std::uint64_t seed) {
  Ask ask;
  ask.job = job;
  ask.spec = &view.spec(job);
  ask.salt = Digest::mix(seed ^ Digest::mix(std::uint64_t{job.index()} << 32 ^
                                            static_cast<std::uint64_t>(view.now().us())));
  ask.avoid = view.avoided(job);
  return ask;
}

Pooling pooling_of(const Mechanism& mechanism, const Placer& placer) {
  const bool whole =
      mechanism.pooling() == Pooling::kWholeCluster || placer.pooling() == Pooling::kWholeCluster;
  return whole ? Pooling::kWholeCluster : Pooling::kPerNode;
}

std::optional<std::string> why_never_placed(const Cluster& cluster, const Mechanism& mechanism,
                                            const Placer& placer, const JobSpec& spec) {
  if (std::optional<std::string> why = cluster.why_never(spec)) return why;
  Ask ask;
  ask.spec = &spec;
  const ResourceLedger empty(cluster.topology(), pooling_of(mechanism, placer));
  mechanism.place(cluster, placer, empty, ask);
  if (!ask.given.empty()) return std::nullopt;
  return what_it_asks(spec) + " cannot be placed even on the empty cluster";
}

void draft_asks(Draft& draft, std::span<Ask> asks) {
  for (const Ask& ask : asks) {
    const Placement* held = draft.placement(ask.job);
    if (held != nullptr && *held != ask.given) draft.stop(ask.job);
  }
  for (Ask& ask : asks) {
    if (draft.placement(ask.job) != nullptr || ask.given.empty()) continue;
    draft.start(ask.job, std::move(ask.given));
  }
}

}  // namespace muster
