#pragma once

// What a daemon on another machine wants of a shim: the file `wish.json` in the record directory,
// on a file system both see. It is the whole of what is wanted, replaced whole (see files.h), so
// reading the last one is enough. Orders for a shim of the same machine go by control.h.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/types/result.h"
#include "exec/cgroup/cgroup.h"

namespace muster {

struct Wish {
  std::int64_t serial = 0;  // Grows with every change.
  std::optional<Limits> limits;
  std::optional<std::int64_t> stop_ms;  // Stop, with so much grace.
  bool kill = false;                    // Also how a lease is retired: nothing of it may go on.

  bool ends() const { return kill || stop_ms; }
};

inline constexpr std::size_t kMostWishBytes = 4096;

std::string wish_json(const Wish& wish);
Result<Wish> read_wish(std::string_view text);

// What is wished in that directory; none if nothing is. An error: it cannot be read.
Result<std::optional<Wish>> look_for_wish(const std::string& directory);

}  // namespace muster
