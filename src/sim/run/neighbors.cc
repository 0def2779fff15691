#include "sim/run/neighbors.h"

#include <algorithm>
#include <array>
#include <utility>

namespace muster {

void Neighbors::touch(const std::vector<NodeId>& nodes, std::vector<JobId>& touched) const {
  for (const NodeId node : nodes) {
    for (const JobId job : on_node_[node]) {
      if (spread(job)) touched.push_back(job);
    }
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
}

void Neighbors::arrive(JobId job, const Placement& placement, std::vector<JobId>& touched) {
  if (!nodes_of_.contains(job)) nodes_of_.resize(std::size_t{job.index()} + 1);
  std::vector<NodeId>& nodes = nodes_of_[job];
  nodes.clear();
  for (const Share& share : placement) {
    nodes.push_back(share.node);
    on_node_[share.node].push_back(job);
  }
  touch(nodes, touched);
}

void Neighbors::leave(JobId job, std::vector<JobId>& touched) {
  const std::vector<NodeId> nodes = std::exchange(nodes_of_[job], {});
  for (const NodeId node : nodes) std::erase(on_node_[node], job);
  touch(nodes, touched);
}

Company Neighbors::company(JobId job) const {
  if (!spread(job)) return Company::kAlone;
  Company company = Company::kAlone;
  for (const NodeId node : nodes_of_[job]) {
    for (const JobId other : on_node_[node]) {
      if (other == job) continue;
      if (spread(other)) return Company::kSpreadOthers;
      company = Company::kOthers;
    }
  }
  return company;
}

double Neighbors::factor(JobId job) const {
  constexpr std::array<double, 3> kFactors = {1, kBesideOthers, kBesideSpreadOthers};
  return kFactors[static_cast<std::size_t>(company(job))];
}

}  // namespace muster
