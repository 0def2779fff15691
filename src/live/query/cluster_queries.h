#pragma once

// Answers questions about the cluster and the manager: the caller, GPUs, nodes, tenants, profiles,
// metrics and health.
//
// Threads: the manager thread calls it and computes every answer itself.

#include <functional>
#include <memory>
#include <utility>

#include "live/lease/lease_runner.h"
#include "live/query/read_context.h"
#include "live/views/metrics_text.h"

namespace muster {

class ClusterQueries {
 public:
  // `use`: the latest utilization sample; may return nullptr.
  ClusterQueries(const ReadContext& context, std::function<std::shared_ptr<const UseSample>()> use)
      : context_(context), use_(std::move(use)) {}

  Answer me(const Caller& caller) const;
  Answer fleet(const Caller& caller, const ForecastScore& forecasts) const;
  Answer nodes(const Caller& caller) const;
  Answer tenants() const;
  Answer profiles(const Caller& caller) const;
  Answer metrics(const ForecastScore& forecasts) const;  // In Prometheus text format.
  Answer health() const;                                 // Status 503 while is_blocked().
  // Returns true while the journal cannot be written.
  bool is_blocked() const { return !context_.status.blocked.empty(); }

 private:
  ReadContext context_;
  std::function<std::shared_ptr<const UseSample>()> use_;
};

}  // namespace muster
