#pragma once

// When servers fail and how long they are away, drawn from a seed. A driver asks for the next
// outage of a server whenever the last one is over; the answer is a pure function of the seed, the
// server and the number of the outage, so it is the same under every scheduler.

#include <cstdint>
#include <optional>

#include "base/types/id.h"
#include "base/types/time.h"

namespace muster {

struct NodeFaultOptions {
  Duration mtbf;                              // Mean time to failure of one server; 0 = never.
  Duration repair = Duration::seconds(3600);  // Mean time away.
};

struct Outage {
  Duration after;  // Since the server last came up, or since the start.
  Duration lasts;

  friend bool operator==(const Outage&, const Outage&) = default;
};

// Times between are exponential: a server that has been up for long is as likely to fail in the
// next hour as a new one. So are repairs. Both are between a microsecond and kLongestDuration.
class NodeFaults {
 public:
  NodeFaults(NodeFaultOptions options, std::uint64_t seed);  // No negative times.

  // The outage after `earlier` others; empty if servers never fail.
  std::optional<Outage> outage(NodeId node, std::uint32_t earlier) const;

 private:
  NodeFaultOptions options_;
  std::uint64_t seed_;
};

}  // namespace muster
