#include "live/manager/lease_orders.h"

#include <set>
#include <utility>

#include "base/types/check.h"

namespace muster {

LeaseOrder lease_order(const Roster& roster, const Order& order,
                       const LeaseOrderSettings& settings) {
  LeaseOrder out;
  out.id = order.id;
  out.lease = order.lease;
  const LiveJob* job = roster.find(order.id);
  if (job != nullptr) out.grace = job->request.grace.value_or(settings.launch.grace);
  switch (order.kind) {
    case Order::Kind::kStart:
      out.kind = LeaseOrder::Kind::kStart;
      MUSTER_CHECK(job != nullptr);
      out.specs = launch_specs(*job, order, settings.launch);
      for (std::size_t i = 0; i < out.specs.size(); ++i) {
        const NodeId node = order.placement[i].node;
        out.specs[i].env["MUSTER_NODE"] = roster.settings().topology.node(node).name;
      }
      break;
    case Order::Kind::kStop:
      out.kind = LeaseOrder::Kind::kStop;
      break;
    case Order::Kind::kResize:
      out.kind = LeaseOrder::Kind::kResize;
      out.limits = launch_limits(order.placement);
      break;
    case Order::Kind::kTest:
      out.kind = LeaseOrder::Kind::kTest;
      out.node = order.node;
      out.test = settings.node_test;
      break;
  }
  return out;
}

std::vector<LeaseOrder> orders_again(const Roster& roster, const LeaseOrderSettings& settings) {
  std::vector<LeaseOrder> orders;
  for (const auto& [id, job] : roster.jobs()) {
    if (!job.lease) continue;
    Order order;
    order.id = id;
    order.lease = job.lease->number;
    order.placement = job.lease->placement;
    order.trial = job.lease->trial;
    order.time_limit = time_left(job, order.trial);
    LeaseOrder out = lease_order(roster, order, settings);
    out.kind = LeaseOrder::Kind::kAdopt;
    out.limits = launch_limits(job.lease->placement);
    out.was_up = job.lease->up;
    out.stopping = job.lease->stopping;
    orders.push_back(std::move(out));
  }
  std::set<NodeId> tests = roster.checks();
  for (const auto& [node, quarantine] : roster.quarantines()) {
    if (quarantine.testing) tests.insert(node);
  }
  for (const NodeId node : tests) {
    Order order;
    order.kind = Order::Kind::kTest;
    order.node = roster.settings().topology.node(node).name;
    orders.push_back(lease_order(roster, order, settings));
  }
  return orders;
}

std::vector<LeaseOrder> limit_orders(std::span<const Profiler::Limit> limits) {
  std::vector<LeaseOrder> orders;
  for (const Profiler::Limit& limit : limits) {
    LeaseOrder order;
    order.kind = LeaseOrder::Kind::kResize;
    order.id = limit.id;
    order.lease = limit.lease;
    order.limits = launch_limits(limit.placement);
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace muster
