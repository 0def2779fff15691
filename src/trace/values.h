#pragma once

// The quick paths of reading a trace: numbers without the cost of an error nobody needs, and the
// search for an id given twice. Where these say no, base/text.h has the words for it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "trace/trace.h"

namespace muster {

std::optional<std::int64_t> whole_number(std::string_view text);

// "12" or "12.345" to the microsecond, which a double cannot hold for long times; what we write
// must read back as it was. Empty for every other way to write a number.
std::optional<Duration> plain_seconds(std::string_view text);

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
