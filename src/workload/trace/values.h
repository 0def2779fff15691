#pragma once

// Finds ids that a trace gives twice.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text/name_table.h"
#include "workload/trace/trace.h"

namespace muster {

// Finds an id given twice. Most traces number their jobs upwards, which needs no table; the first
// id that does not fit starts one.
class IdCheck {
 public:
  // The place in `jobs` of the earlier job of that id, if there is one. `jobs` are those already
  // seen, in order; the id is not empty.
  std::optional<std::size_t> seen(const std::vector<TraceJob>& jobs, std::string_view id);

 private:
  bool ascending_ = true;
  std::int64_t last_ = -1;
  NameTable table_;
};

}  // namespace muster
