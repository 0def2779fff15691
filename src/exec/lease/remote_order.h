#pragma once

// An order from the daemon to a shim on another machine: the file `wish.json` in the record
// directory, on a shared file system. Each version is complete and replaces the last one atomically
// (see files.h), so the shim reads only the newest. Shims on the same machine use control.h
// instead.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/types/result.h"
#include "exec/cgroup/cgroup.h"

namespace muster {

struct RemoteOrder {
  std::int64_t serial = 0;  // Increases with every change.
  std::optional<Limits> limits;
  std::optional<std::int64_t> stop_ms;  // Stop with this grace period, in milliseconds.
  bool kill = false;                    // Also for a retired lease, which must not keep running.

  bool ends() const { return kill || stop_ms; }
};

inline constexpr std::size_t kMaxRemoteOrderBytes = 4096;

std::string remote_order_json(const RemoteOrder& order);
Result<RemoteOrder> read_remote_order(std::string_view text);

// Reads the order in a record directory; nullopt if there is none. Fails if the directory or file
// is unreadable.
Result<std::optional<RemoteOrder>> look_for_remote_order(const std::string& directory);

}  // namespace muster
