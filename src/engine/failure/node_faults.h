#pragma once

// Random outages of simulated nodes. The driver asks for the next outage of a node when the last
// one ends. The result is a pure function of the seed, the node and the number of the outage, so it
// is the same under every scheduler.

#include <cstdint>
#include <optional>

#include "base/types/id.h"
#include "base/types/time.h"

namespace muster {

struct NodeFaultOptions {
  Duration mtbf;  // Mean time to failure of one node; 0: nodes never fail.
  Duration repair = Duration::seconds(3600);  // Mean length of an outage.
};

struct Outage {
  Duration after;  // Since the node last came up, or since the start.
  Duration lasts;  // Length of the outage.

  friend bool operator==(const Outage&, const Outage&) = default;
};

// Times between failures are exponential: a node that has been up for long is as likely to fail in
// the next hour as a new one. Repair times are exponential, too. Both are between 1 us and
// kLongestDuration.
class NodeFaults {
 public:
  NodeFaults(NodeFaultOptions options, std::uint64_t seed);  // REQUIRES: no negative times.

  // Returns outage number `earlier`, counted from 0, or nullopt if nodes never fail.
  std::optional<Outage> outage(NodeId node, std::uint32_t earlier) const;

 private:
  NodeFaultOptions options_;
  std::uint64_t seed_;
};

}  // namespace muster
