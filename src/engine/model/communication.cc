#include "engine/model/communication.h"

#include <algorithm>

#include "base/types/check.h"

namespace muster {

namespace {

double server_seconds(const TrainingStep& step, const WorkerSpread& spread,
                      const Bandwidths& bandwidths) {
  const double one_way = step.parameter_bytes / bandwidths.inside;
  if (spread.nodes == 1) return 2 * one_way;
  const auto workers = static_cast<double>(spread.workers);
  const auto nodes = static_cast<double>(spread.nodes);
  const double servers = spread.servers == 0 ? workers : static_cast<double>(spread.servers);
  const double remote_workers = workers - workers / nodes;
  const double on_busiest_node = std::max(step.largest_share, 1 / std::min(servers, nodes));
  const double on_busiest_server = std::max(step.largest_share, 1 / servers);
  const double network = std::max(on_busiest_node * remote_workers / bandwidths.between,
                                  on_busiest_server / bandwidths.stream);
  return 2 * (one_way + step.parameter_bytes * network);
}

double ring_seconds(const TrainingStep& step, const WorkerSpread& spread,
                    const Bandwidths& bandwidths) {
  const auto workers = static_cast<double>(spread.workers);
  const double slowest =
      spread.nodes == 1 ? bandwidths.inside : std::min(bandwidths.inside, bandwidths.between);
  return 2 * step.parameter_bytes * (workers - 1) / workers / slowest;
}

}  // namespace

double exchange_seconds(ExchangeMethod method, const TrainingStep& step, const WorkerSpread& spread,
                        const Bandwidths& bandwidths) {
  MUSTER_CHECK(bandwidths.between > 0 && bandwidths.inside > 0 && bandwidths.stream > 0);
  MUSTER_CHECK(spread.nodes >= 1 && spread.nodes <= spread.workers && spread.servers >= 0);
  if (spread.workers == 1) return 0;
  return method == ExchangeMethod::kRing ? ring_seconds(step, spread, bandwidths)
                                         : server_seconds(step, spread, bandwidths);
}

double exchange_share(const TrainingStep& step, double exchange) {
  return exchange > 0 ? exchange / (step.compute_seconds + exchange) : 0;
}

double spread_speed(const TrainingStep& step, const WorkerSpread& spread,
                    const Bandwidths& bandwidths) {
  const auto step_seconds = [&](std::int64_t nodes) {
    return step.compute_seconds +
           exchange_seconds(ExchangeMethod::kServers, step, {spread.workers, nodes, 0}, bandwidths);
  };
  // The link term is largest at two nodes or at all of them.
  const double spread_out =
      std::max(step_seconds(spread.nodes), spread.nodes > 2 ? step_seconds(2) : 0);
  return spread_out > 0 ? step_seconds(1) / spread_out : 1;
}

}  // namespace muster
