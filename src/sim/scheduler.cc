#include "sim/scheduler.h"

#include <utility>

#include "mechanism/registry.h"
#include "placement/registry.h"
#include "policy/registry.h"

namespace muster {

Refusal check_parts(const SchedulerParts& parts) {
  if (const auto found = find_entry(policies(), "policy", parts.policy); !found.ok()) {
    return found.error();
  }
  if (const auto found = find_entry(mechanisms(), "mechanism", parts.mechanism); !found.ok()) {
    return found.error();
  }
  if (const auto found = find_entry(placements(), "placement", parts.placement); !found.ok()) {
    return found.error();
  }
  return std::nullopt;
}

std::unique_ptr<Chain> make_chain(const SchedulerParts& parts, const PolicyOptions& policy_options,
                                  const Cluster& cluster, const ChainOptions& options,
                                  std::unique_ptr<Mechanism> mechanism) {
  if (mechanism == nullptr) {
    mechanism = find_entry(mechanisms(), "mechanism", parts.mechanism).value()->make();
  }
  return std::make_unique<Chain>(
      cluster, find_entry(policies(), "policy", parts.policy).value()->make(policy_options),
      std::move(mechanism), find_entry(placements(), "placement", parts.placement).value()->make(),
      options);
}

}  // namespace muster
