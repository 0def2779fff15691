#include "workload/trace/values.h"

#include "base/text/numbers.h"

namespace muster {

std::optional<std::size_t> IdCheck::seen(const std::vector<TraceJob>& jobs, std::string_view id) {
  if (ascending_) {
    const std::optional<std::int64_t> number = whole_number(id);
    if (number && *number > last_) {
      last_ = *number;
      return std::nullopt;
    }
    ascending_ = false;
    for (const TraceJob& job : jobs) table_.intern(job.id);
  }
  const std::size_t known = table_.size();
  const std::uint32_t entry = table_.intern(id);
  if (entry == known) return std::nullopt;
  return entry - 1;  // Entry 0 is "", which is not an id.
}

}  // namespace muster
