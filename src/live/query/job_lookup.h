#pragma once

// Finds the job that a caller names. Manager thread only.

#include <cstdint>
#include <string>

#include "base/types/result.h"
#include "live/query/read_context.h"

namespace muster {

struct FoundJob {
  LiveId id = 0;
  std::string user;
  std::uint32_t uid = kNoUid;
  std::string tenant = {};

  JobOwner owner() const { return {user, uid, tenant}; }
};

enum class Match : std::uint8_t {
  kWhole,      // For changes: the full id or "12_3".
  kBeginning,  // For reads: also a prefix that matches exactly one job.
};

// Finds "12", "12_3" or a prefix among the jobs that the caller may see. Errors: kNotFound,
// kConflict if several jobs match, kUnavailable if the tables cannot be read.
Result<FoundJob> find_job(const ReadContext& context, const Caller& caller, const std::string& text,
                          Match match = Match::kBeginning);

}  // namespace muster
