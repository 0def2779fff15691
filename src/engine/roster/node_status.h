#pragma once

// The status of nodes that do not take all jobs, as the roster keeps it.

#include <string>

#include "base/types/time.h"
#include "engine/failure/node_evidence.h"
#include "engine/model/resources.h"

namespace muster {

// A node that takes no jobs because attempts failed on it, until it passes a test.
struct NodeQuarantine {
  std::string why;  // For users.
  Instant since;
  Instant until;    // When it is tested.
  Duration period;  // Doubles with each test that fails.
  bool testing = false;
  std::string test;  // How the last test failed; empty: there was none.
  // Grade of the evidence that closed the node; kMeasured once its test has failed.
  EvidenceGrade grade = EvidenceGrade::kReported;
};

// The latest report of the executor about a node that Muster cannot use, or not alone.
struct NodeCondition {
  bool usable = true;
  std::string why;  // For users, if it is not usable.
  Instant since;    // When `usable` changed.
  Resources taken;  // Used by external jobs.
};

}  // namespace muster
