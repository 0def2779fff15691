#pragma once

// Settings of an Engine, fixed when it is created.

#include "base/types/time.h"
#include "engine/core/estimator.h"
#include "engine/core/resource_ledger.h"
#include "engine/failure/node_blame.h"
#include "engine/failure/retry.h"

namespace muster {

struct EngineOptions {
  Pooling pooling = Pooling::kPerNode;
  EstimateSource::Kind estimates = EstimateSource::Kind::kOracle;
  // Zero: plan after every event. Otherwise plan only at first_round + k * round.
  Duration round;
  Instant first_round;
  // Without rounds: time between the ticks of a policy that drifts (PolicyTraits::drifts). Such a
  // policy preempts only at ticks.
  Duration quantum = Duration::seconds(300);
  // How often a running job saves its work. Work since the last checkpoint is lost in a failure.
  Duration checkpoint_interval = Duration::seconds(300);
  RetryPolicy retry = RetryPolicy::none();
  NodeBlameOptions nodes = {};  // When failures quarantine a node.
  // Also plan in rounds without an event that could change the plan. The result is the same, and
  // tests use this to prove it.
  bool plan_idle_rounds = false;
  // decisions() contains plans and their changes, for the journal. REQUIRES: no GPU sharing.
  bool record_plans = false;
};

}  // namespace muster
