#pragma once

// Settings of an Engine, fixed when it is created.

#include "base/types/time.h"
#include "engine/core/books.h"
#include "engine/core/estimator.h"
#include "engine/failure/blame.h"
#include "engine/failure/retry.h"

namespace muster {

struct EngineOptions {
  Pooling pooling = Pooling::kPerNode;
  EstimateSource::Kind estimates = EstimateSource::Kind::kOracle;
  // Zero: plan whenever something happens. Otherwise plan only at first_round + k * round.
  Duration round;
  Instant first_round;
  // Without rounds: how long a lease is safe from a policy whose order drifts with time.
  Duration quantum = Duration::seconds(300);
  // How often a running job saves its work. What it did since is lost when its attempt fails.
  Duration checkpoint_interval = Duration::seconds(300);
  RetryPolicy retry = RetryPolicy::none();
  ServerBlameOptions servers = {};  // When they are closed for what fails on them.
  // Plan also in rounds before which nothing happened that could change a plan. The result is the
  // same; tests use it to show that.
  bool plan_idle_rounds = false;
  // decisions() contains plans and their changes, for the journal. Without GPU sharing only.
  bool record_plans = false;
};

}  // namespace muster
