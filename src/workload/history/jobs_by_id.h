#pragma once

// Finds jobs of a history by id, for files with more data about them: leases and outcomes. If
// several jobs have the same id, the last one wins.

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
  // REQUIRES: the history outlives this object, and its jobs do not change.
  explicit JobsById(const History& history)
      : ids_(history.ids), job_of_id_(history.ids.size(), kNone) {
    for (std::size_t i = 0; i < history.jobs.size(); ++i) {
      job_of_id_[history.jobs[i].id] = static_cast<std::uint32_t>(i);
    }
  }

  // Returns the index in History::jobs.
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
