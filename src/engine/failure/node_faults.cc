#include "engine/failure/node_faults.h"

#include <algorithm>
#include <cmath>

#include "base/types/check.h"
#include "base/types/digest.h"
#include "base/types/random.h"

namespace muster {

namespace {

Duration draw(Duration mean, Random& random) {
  const double us = random.exponential(static_cast<double>(mean.us()));
  const auto longest = static_cast<double>(kLongestDuration.us());  // Before rounding can overflow.
  return Duration::micros(std::max<std::int64_t>(1, std::llround(std::min(us, longest))));
}

}  // namespace

NodeFaults::NodeFaults(NodeFaultOptions options, std::uint64_t seed)
    : options_(options), seed_(seed) {
  MUSTER_CHECK(options.mtbf >= Duration() && options.repair >= Duration());
}

std::optional<Outage> NodeFaults::outage(NodeId node, std::uint32_t earlier) const {
  if (options_.mtbf == Duration()) return std::nullopt;
  Digest digest;
  digest.add(seed_);
  digest.add("faults of a server");
  digest.add(std::uint64_t{node.index()});
  digest.add(std::uint64_t{earlier});
  Random random(digest.value());
  Outage outage;
  outage.after = draw(options_.mtbf, random);
  outage.lasts = draw(options_.repair, random);
  return outage;
}

}  // namespace muster
