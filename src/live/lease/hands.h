#pragma once

// What carries the roster's orders out on machines, and tells what became of leases. The manager
// gives orders from its thread and never waits; news comes back whenever it comes.

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

struct HandOrder {
  enum class Kind : std::uint8_t {
    kStart,
    kTakeUp,  // As kStart, of a lease that was ordered by an earlier daemon: it may be running, be
              // over, or never have started.
    kStop,
    kResize,
    kForget,  // Its record is no longer wanted.
    kTest,    // See whether a server is well; a NodeTestInput tells.
  };
  Kind kind = Kind::kStart;
  LiveId id = 0;
  std::uint32_t lease = 0;
  std::vector<LaunchSpec> specs;  // Of kStart and kTakeUp: one a server.
  std::vector<Limits> limits;     // Of kResize, kTakeUp: one a server.
  bool was_up = false;            // Of kTakeUp: it is known to have started, so it must not again.
  bool stopping = false;          // Of kTakeUp: it is to stop, and must not start any more.
  std::optional<Duration> grace;  // Of kStop and kTakeUp.
  std::string node;               // Of kTest, as is the next.
  std::vector<std::string> test;
};

// How busy what leases hold was, between the last two looks, if these are of the last seconds: 0 to
// 1, below zero where nobody knows.
struct UseSample {
  std::vector<double> gpus;  // This machine's own, by index; empty: it has none that tell.
  // Of the CPU that each part of a lease may use, the part it did; by rank.
  std::map<std::pair<LiveId, std::uint32_t>, std::vector<double>> cpus;
};

class Hands {
 public:
  virtual ~Hands() = default;
  virtual void order(std::vector<HandOrder> orders) = 0;
  // The last sample, without waiting; if it is old, another is taken for whoever asks next.
  // Nothing: it cannot be seen from here. For people alone: nobody decides by it.
  virtual std::shared_ptr<const UseSample> use() { return nullptr; }
};

// How the end of one server's part reads as the end of a lease.
LeaseOverInput over_of(const ExitReport& report);
// Of all its servers' ends the one of the lease: what says most, and what they used together.
LeaseOverInput whole_of(std::span<const LeaseOverInput> parts);

}  // namespace muster
