#pragma once

// Service needed by earlier jobs, for the Gittins policies, and the ranks derived from it.
//
// The history is either given at the start and fixed, or learned from completed jobs. Ranks of
// waiting jobs must not change, so new samples take effect only at the next renewal: when the
// number of completed jobs has grown by a tenth and by at least 20. Waiting jobs are then ranked
// again, except new jobs, which may be many: they keep their rank, and others are ranked around
// them. There are about 25 renewals per factor of ten in completed jobs, so their cost is
// negligible.

#include <cstdint>
#include <vector>

#include "base/types/id.h"
#include "engine/core/rank.h"
#include "engine/model/service_distribution.h"

namespace muster {

// Returns the rank of a job: lower levels first, then the larger index, exactly. Index zero comes
// last in its level. A job with index `of_new`, which must be equal for all jobs of a level, always
// has the same rank.
Rank rank_by_index(std::int64_t level, const GittinsIndex& index, const GittinsIndex& of_new);

class ServiceHistory {
 public:
  // Learns if `told` is empty. `levels` is the number of levels used with rank_by_index().
  ServiceHistory(ServiceDistribution told, std::int64_t levels);

  // Minimum number of completed jobs before learned data is used.
  static constexpr std::int64_t kMin = 20;
  bool is_known() const { return known_.size() > 0; }

  // Index of a job with service `attained` that may get `quantum` (positive) more. Zero for all
  // jobs without data.
  GittinsIndex index(std::int64_t attained, std::int64_t quantum) const;

  void completed(std::int64_t service);  // Adds the total service of a completed job.
  // Marks whether the job waits and must be ranked again at the next renewal.
  void set_waiting(JobId job, bool waiting);
  // Renews if due. Returns true and adds the marked jobs to `moved` in that case.
  bool renew(std::vector<JobId>& moved);

 private:
  bool learns_;
  std::int64_t largest_quantum_;
  ServiceDistribution known_;
  std::vector<std::int64_t> samples_;  // Most recent samples; a ring buffer once it is full.
  std::int64_t completed_ = 0;
  std::int64_t renewed_at_ = 0;            // Value of completed_ at the last renewal.
  IdVector<JobId, std::uint8_t> waiting_;  // 1 or 0 by job, up to the last job set.
};

}  // namespace muster
