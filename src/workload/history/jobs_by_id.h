#pragma once

// Finds jobs of a history by their ids, for files that tell more of them: leases and outcomes. Of
// jobs of one id, the last.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text/name_table.h"
#include "workload/history/history.h"

namespace muster {

class JobsById {
 public:
  // The history must outlive it, and its jobs stay as they are.
  explicit JobsById(const History& history)
      : ids_(history.ids), job_of_id_(history.ids.size(), kNone) {
    for (std::size_t i = 0; i < history.jobs.size(); ++i) {
      job_of_id_[history.jobs[i].id] = static_cast<std::uint32_t>(i);
    }
  }

  // In History::jobs.
  std::optional<std::uint32_t> find(std::string_view id) const {
    const std::optional<std::uint32_t> known = ids_.find(id);
    if (!known || job_of_id_[*known] == kNone) return std::nullopt;
    return job_of_id_[*known];
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  const NameTable& ids_;
  std::vector<std::uint32_t> job_of_id_;
};

}  // namespace muster
