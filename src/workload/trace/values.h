#pragma once

// Detection of duplicate job ids in a trace, for parse_trace().

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text/name_table.h"
#include "workload/trace/trace.h"

namespace muster {

// Finds duplicate job ids. Ascending integer ids, as in most traces, need no table. The first other
// id creates one.
class IdCheck {
 public:
  // Returns the index in `jobs` of the earlier job with this id, if there is one.
  // REQUIRES: `jobs` are the jobs of all earlier calls, in order; `id` is not empty.
  std::optional<std::size_t> seen(const std::vector<TraceJob>& jobs, std::string_view id);

 private:
  bool ascending_ = true;
  std::int64_t last_ = -1;
  NameTable table_;
};

}  // namespace muster
