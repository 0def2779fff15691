#pragma once

// Interface that starts, stops and resizes leases on nodes. The manager thread calls order(), which
// never blocks. Results arrive later as roster inputs.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/roster/input.h"
#include "exec/lease/control.h"
#include "exec/lease/report.h"
#include "exec/lease/spec.h"

namespace muster {

struct LeaseOrder {
  enum class Kind : std::uint8_t {
    kStart,
    // Re-adopts a lease of an earlier daemon. It may be running, have ended, or never have started.
    kAdopt,
    kStop,
    kResize,
    kForget,  // Delete its record.
    kTest,    // Test a quarantined node; the result is a NodeTestInput.
  };
  Kind kind = Kind::kStart;
  LiveId id = 0;
  std::uint32_t lease = 0;
  std::vector<LaunchSpec> specs;  // kStart, kTakeUp: one per node.
  std::vector<Limits> limits;     // kResize, kTakeUp: one per node.
  bool was_up = false;            // kTakeUp: it has started before, so it must not start again.
  bool stopping = false;          // kTakeUp: it must stop, and must not start.
  std::optional<Duration> grace;  // kStop, kTakeUp.
  std::string node;               // kTest: the node ...
  std::vector<std::string> test;  // ... and the command.
};

// Utilization of the resources of leases between the last two samples: 0 to 1, below zero if
// unknown or if the samples are too old.
struct UseSample {
  std::vector<double> gpus;  // GPUs of this machine, by index; empty if none report it.
  // By lease, then by node rank: the used fraction of the CPU limit.
  std::map<std::pair<LiveId, std::uint32_t>, std::vector<double>> cpus;
};

class LeaseRunner {
 public:
  virtual ~LeaseRunner() = default;
  virtual void order(std::vector<LeaseOrder> orders) = 0;
  // Returns the latest sample without blocking, or null if the runner cannot sample. An old sample
  // triggers a new one for the next call. Only for display: no decision uses it.
  virtual std::shared_ptr<const UseSample> use() { return nullptr; }
};

// Converts the exit report of one node to the end of a lease.
LeaseOverInput over_of(const ExitReport& report);
// Merges the ends of all nodes: the most informative outcome, and the sum of the resources used.
LeaseOverInput merge_ends(std::span<const LeaseOverInput> parts);

}  // namespace muster
