#include "sim/compat/compat.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"
#include "base/types/check.h"
#include "engine/policy/mlfq_gittins.h"
#include "engine/policy/mlfq_las.h"
#include "sim/compat/late_demotion.h"
#include "sim/compat/stable_ties.h"
#include "sim/compat/synergy_planner.h"
#include "sim/compat/synergy_tune.h"

namespace muster {

namespace {

constexpr Duration kStaticSpan = Duration::seconds(1);

// In the order of Compat.
constexpr std::array<CompatTraits, 3> kTraits = {{
    {.name = "", .placement = "consolidate", .round = Duration()},
    {.name = "tiresias", .placement = "count", .round = Duration(), .ideal_machine = true},
    {.name = "synergy",
     .placement = "first-fit",
     .round = Duration::seconds(300),
     .ideal_machine = true,
     .whole_iterations = true,
     .numpy_statistics = true,
     .plans_idle_rounds = true},
}};

MadePlanner make_tiresias(const Cluster& cluster, const PlannerOptions& options) {
  PlannerParts parts = make_parts(options);
  const std::string& name = options.parts.policy;
  if (name == "mlfq-las") {
    parts.policy = std::make_unique<LateDemotion<MlfqLas>>(options.policy);
  } else if (name == "mlfq-gittins") {
    parts.policy = std::make_unique<LateDemotion<MlfqGittins>>(options.policy);
  } else if (name == "srtf" || name == "srsf") {
    parts.policy = std::make_unique<StableTies>(std::move(parts.policy), TieRule::kReachedFirst);
  } else if (parts.policy->traits().drifts) {
    parts.policy = std::make_unique<StableTies>(std::move(parts.policy), TieRule::kOlder);
  }
  return make_composed(cluster, std::move(parts), options.chain);
}

MadePlanner make_synergy(const Cluster& cluster, const PlannerOptions& options) {
  PlannerParts parts = make_parts(options);
  if (options.parts.mechanism == "tune" && !options.mechanism) {
    parts.mechanism = std::make_unique<SynergyTune>();
  }
  MadePlanner made;
  made.pooling = parts.pooling();
  made.planner = std::make_unique<SynergyPlanner>(cluster, std::move(parts), options.chain.seed);
  return made;
}

}  // namespace

const CompatTraits& traits_of(Compat compat) { return kTraits[static_cast<std::size_t>(compat)]; }

Result<Compat> parse_compat(std::string_view name) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kTraits.size(); ++i) {
    if (kTraits[i].name == name) return static_cast<Compat>(i);
    if (!kTraits[i].name.empty()) names.push_back(kTraits[i].name);
  }
  return Error{"--compat: unknown simulator " + in_quotes(name) + suggestion(name, names)};
}

ProfileTable compat_profiles(const ProfileTable& profiles, Compat compat) {
  if (compat != Compat::kSynergy) return profiles;
  ProfileTable references;
  for (std::size_t i = 1; i < profiles.size(); ++i) {
    MUSTER_CHECK(references.add(profiles[ProfileId(i)].scalar_reference()).ok());
  }
  return references;
}

Instant first_round(const Trace& trace, Duration round, Compat compat) {
  if (compat != Compat::kSynergy || trace.jobs.empty()) return Instant();
  // Synergy starts a static workload after one second, and others at the round after the first job.
  const Instant first = trace.jobs.front().submit;
  if (trace.jobs.back().submit < Instant() + kStaticSpan) return Instant() + kStaticSpan;
  return Instant::micros((first.us() + round.us() - 1) / round.us() * round.us());
}

MadePlanner make_compat_planner(const Cluster& cluster, const PlannerOptions& options,
                                Compat compat) {
  if (options.whole.index() != 0 || compat == Compat::kNone) return make_planner(cluster, options);
  return compat == Compat::kTiresias ? make_tiresias(cluster, options)
                                     : make_synergy(cluster, options);
}

std::int64_t numpy_percentile(const std::vector<std::int64_t>& sorted, std::size_t p) {
  __extension__ typedef __int128 Int128;  // The product of a time and a percentage may not fit.
  const std::size_t place = p * (sorted.size() - 1);  // In hundredths.
  const std::int64_t low = sorted[place / 100];
  const std::int64_t high = sorted[std::min(place / 100 + 1, sorted.size() - 1)];
  const Int128 part = static_cast<Int128>(high - low) * static_cast<Int128>(place % 100);
  return low + static_cast<std::int64_t>((part + 50) / 100);
}

}  // namespace muster
