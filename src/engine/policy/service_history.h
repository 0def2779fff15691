#pragma once

// What the Gittins policies know of how much service jobs need, and the ranks that follow from it.
//
// Either it is told at the start and stays, or it is learnt from the jobs that complete. The ranks
// of waiting jobs must hold while they wait, so what is learnt counts only from the next renewal
// on: when the number of completed jobs has grown by a tenth, and by 20 at least. Those who wait
// are ranked anew then, except new jobs, which may be many: they stand where they stood, and the
// others around them. There are about 25 renewals for each tenfold of completed jobs, so that they
// cost next to nothing.

#include <cstdint>
#include <vector>

#include "base/types/id.h"
#include "engine/core/rank.h"
#include "engine/model/service_distribution.h"

namespace muster {

// The rank of a job: lower levels first, inside a level the larger index, exactly. Whose index is
// zero comes last in its level. A job with the index `of_new`, which must be the same for all of a
// level, has the same rank whatever that is.
Rank rank_by_index(std::int64_t level, const GittinsIndex& index, const GittinsIndex& of_new);

class ServiceHistory {
 public:
  // Learns if `told` is empty. The indices are for ranks of levels from 0 to levels - 1.
  ServiceHistory(ServiceDistribution told, std::int64_t levels);

  // What was learnt is of no use before this many jobs completed.
  static constexpr std::int64_t kFewest = 20;
  bool is_known() const { return known_.size() > 0; }

  // Of a job that has `attained` and may get `quantum` more (positive). Zero for all while nothing
  // is known.
  GittinsIndex index(std::int64_t attained, std::int64_t quantum) const;

  void completed(std::int64_t service);  // A job needed so much.
  // Who waits and must be ranked anew at the next renewal.
  void set_waiting(JobId job, bool waiting);
  // Whether it is time for a renewal. Then adds those to `moved`.
  bool renew(std::vector<JobId>& moved);

 private:
  bool learns_;
  std::int64_t largest_quantum_;
  ServiceDistribution known_;
  std::vector<std::int64_t> samples_;  // The most recent, going round once there are enough.
  std::int64_t completed_ = 0;
  std::int64_t renewed_at_ = 0;            // As many had completed then.
  IdVector<JobId, std::uint8_t> waiting_;  // 1 or 0, up to the last job that was set.
};

}  // namespace muster
