#pragma once

// Policies that remember nothing: how they treat a job that does not fit, and whether they preempt,
// is known at compile time. Such a policy derives from PolicyWith<...> and adds its rank().

#include "engine/core/policy.h"

namespace muster {

inline constexpr PolicyTraits kBlockingTraits = {PolicyTraits::WhenStuck::kWait};
inline constexpr PolicyTraits kSkippingTraits = {PolicyTraits::WhenStuck::kSkip};
inline constexpr PolicyTraits kReservingTraits = {PolicyTraits::WhenStuck::kReserve};
inline constexpr PolicyTraits kPreemptingTraits = {PolicyTraits::WhenStuck::kSkip,
                                                   /*preempts=*/true};
inline constexpr PolicyTraits kDriftingTraits = {PolicyTraits::WhenStuck::kSkip, /*preempts=*/true,
                                                 /*drifts=*/true};

template <const PolicyTraits& kTraits>
class PolicyWith : public Policy {
 public:
  PolicyTraits traits() const final { return kTraits; }
};

}  // namespace muster
