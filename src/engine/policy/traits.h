#pragma once

// Base class for policies without state, whose traits are compile-time constants. Such a policy
// derives from PolicyWith<...> and adds its rank().

#include "engine/core/policy.h"

namespace muster {

inline constexpr PolicyTraits kBlockingTraits = {PolicyTraits::BlockedHeadRule::kWait};
inline constexpr PolicyTraits kSkippingTraits = {PolicyTraits::BlockedHeadRule::kSkip};
inline constexpr PolicyTraits kReservingTraits = {PolicyTraits::BlockedHeadRule::kReserve};
inline constexpr PolicyTraits kPreemptingTraits = {PolicyTraits::BlockedHeadRule::kSkip,
                                                   /*preempts=*/true};
inline constexpr PolicyTraits kDriftingTraits = {PolicyTraits::BlockedHeadRule::kSkip,
                                                 /*preempts=*/true,
                                                 /*drifts=*/true};

template <const PolicyTraits& kTraits>
class PolicyWith : public Policy {
 public:
  PolicyTraits traits() const final { return kTraits; }
};

}  // namespace muster
