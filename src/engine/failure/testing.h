#pragma once

// For tests: a workload with the sizes and run times of Philly, and one job under a retry policy.
// There is no cluster: every attempt starts immediately and from zero.

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/failure/fault_model.h"
#include "engine/failure/retry.h"

namespace muster::testing_failures {

struct Sample {
  JobId id;
  std::int32_t gpus = 1;
  Duration run_time;
};

// 76% on one GPU, 2% on 2, 9% on 4 and the rest on 8; run times log-normal, median 20 minutes. The
// sigma of 2 is that of Philly's one-GPU jobs: p50 19.4 and p90 239 minutes.
inline std::vector<Sample> philly_like(int jobs, std::uint64_t seed) {
  Random sizes = Random(seed).fork("sizes");
  Random times = Random(seed).fork("times");
  std::vector<Sample> samples;
  for (int i = 0; i < jobs; ++i) {
    const double u = sizes.uniform() * 0.995;
    const double minutes = 20 * portable_exp(2 * times.normal());
    samples.push_back({JobId(i),
                       u < 0.76   ? 1
                       : u < 0.78 ? 2
                       : u < 0.87 ? 4
                                  : 8,
                       Duration::micros(std::llround(60e6 * minutes))});
  }
  return samples;
}

struct Life {
  bool finished = false;
  std::vector<FailedAttempt> failed;
  double wasted_gpu_hours = 0;  // GPU hours of failed attempts.
};

inline Life live(const FaultModel& model, const RetryPolicy& policy, const Sample& job) {
  Life life;
  NodeId node;
  for (int attempt = 0;; ++attempt) {
    const std::optional<InjectedFailure> trouble =
        model.trouble(job.id, job.gpus, attempt, job.run_time);
    if (!trouble) break;
    life.wasted_gpu_hours += trouble->after.in_hours() * job.gpus;
    const FailedAttempt failed = {trouble->reason, {node}};
    const Verdict verdict = policy.decide(failed, life.failed);
    life.failed.push_back(failed);
    if (!verdict.again()) return life;
    if (verdict.next == Verdict::Next::kRetryElsewhere) node = NodeId(node.index() + 1);
  }
  life.finished = true;
  return life;
}

}  // namespace muster::testing_failures
