#pragma once

// Bandwidth model of data-parallel training: the time per step in which workers exchange gradients
// and parameters, by the size of the model and the spread of its workers over nodes.
//
// Each worker sends P bytes of gradients and receives P bytes of parameters per step. The model
// assumes no latency, no overlap of communication and computation, equal numbers of workers on all
// nodes, and no local sum of the gradients of one node. With W workers on N nodes (w = W / N on
// each), the largest tensor's share s of the parameters, and k parameter servers:
//
//   servers, one node:    2 P / inside
//   servers, more nodes:  2 P / inside + 2 P max(F (W - w) / between, max(s, 1 / k) / stream)
//                         with F = max(s, 1 / min(k, N)), the share of the busiest server node
//   ring, one node:       2 P (W - 1) / W / inside
//   ring, more nodes:     2 P (W - 1) / W / min(inside, between)

#include <cstdint>

namespace muster {

struct TrainingStep {
  double parameter_bytes = 0;
  double largest_share = 0;    // See Profile::skew(). A tensor is never split between servers.
  double compute_seconds = 0;  // Forward and backward pass of one worker.
};

// Bandwidths in bytes per second and direction.
struct Bandwidths {
  double between = 7e9;  // Network link of a node. Default: 56 Gb/s, as in RALP (systems.md F).
  // Between a GPU and the memory of its node: PCIe 3.0 x16, 15.75 GB/s, of which 12 are usable.
  double inside = 12e9;
  // Transfers of one worker to one server: TensorFlow's gRPC in 2017 (tensorflow issue 6116, which
  // has 0.5 to 0.8 GB/s, and 3.4 GB/s with GPUDirect).
  double stream = 0.8e9;
};

struct WorkerSpread {
  std::int64_t workers = 1;
  std::int64_t nodes = 1;    // At most `workers`.
  std::int64_t servers = 0;  // Parameter servers, evenly on the nodes; 0: one per worker.
};

enum class ExchangeMethod : std::uint8_t { kServers, kRing };

// Returns the seconds of communication per step; zero for one worker.
// REQUIRES: all bandwidths are positive, 1 <= nodes <= workers, servers >= 0.
double exchange_seconds(ExchangeMethod method, const TrainingStep& step, const WorkerSpread& spread,
                        const Bandwidths& bandwidths);

// Returns the share of the step that `exchange` seconds of communication take, from 0 to 1.
double exchange_share(const TrainingStep& step, double exchange);

// Returns the speed with this spread relative to all workers on one node, with one parameter server
// per worker: above 0, at most 1, and never more on more nodes or with a slower link. In the
// equations above, even models gain from the links of additional nodes. This gain is not counted,
// because other jobs use these links, too.
double spread_speed(const TrainingStep& step, const WorkerSpread& spread,
                    const Bandwidths& bandwidths);

}  // namespace muster
