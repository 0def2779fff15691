#include "sim/run/neighbors.h"

#include <algorithm>
#include <array>
#include <utility>

namespace muster {

void Neighbors::touch(const Held& held, std::vector<JobId>& touched) const {
  for (const auto& [node, slots] : held) {
    for (const auto& [job, theirs] : on_node_[node]) {
      if (spread(job)) touched.push_back(job);
    }
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
}

void Neighbors::arrive(JobId job, const Placement& placement, std::vector<JobId>& touched) {
  if (!held_.contains(job)) held_.resize(std::size_t{job.index()} + 1);
  Held& held = held_[job];
  held.clear();
  for (const Share& share : placement) {
    held.emplace_back(share.node, share.slots);
    on_node_[share.node].emplace_back(job, share.slots);
  }
  touch(held, touched);
}

void Neighbors::leave(JobId job, std::vector<JobId>& touched) {
  const Held held = std::exchange(held_[job], {});
  for (const auto& [node, slots] : held) std::erase(on_node_[node], std::pair{job, slots});
  touch(held, touched);
}

Company Neighbors::company(JobId job, bool time_sliced) const {
  if (!spread(job)) return Company::kAlone;
  Company company = Company::kAlone;
  for (const auto& [node, slots] : held_[job]) {
    for (const auto& [other, theirs] : on_node_[node]) {
      if (other == job || (time_sliced && (slots & theirs) != 0)) continue;
      if (spread(other)) return Company::kSpreadOthers;
      company = Company::kOthers;
    }
  }
  return company;
}

double Neighbors::factor(JobId job, bool time_sliced) const {
  constexpr std::array<double, 3> kFactors = {1, kBesideOthers, kBesideSpreadOthers};
  return kFactors[static_cast<std::size_t>(company(job, time_sliced))];
}

}  // namespace muster
