#pragma once

// Evidence that a node is faulty, and how reliable it is. NodeBlame (node_blame.h) has the rules.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/id.h"

namespace muster {

enum class EvidenceGrade : std::uint8_t {
  // A job can cause it: log text, exit statuses, signals, early failures.
  kReported,
  // No job can cause it: NVML, the kernel log, a failed node test.
  kMeasured,
};

constexpr std::string_view key_of(EvidenceGrade grade) {
  return grade == EvidenceGrade::kMeasured ? "measured" : "reported";
}

struct NodeEvidence {  // Measured evidence that a node is faulty; an event of the engine.
  NodeId node;
  std::string what;  // Human-readable: "Xid 79".
};

}  // namespace muster
