#pragma once

// Client of a shim's control socket, used by LocalExecutor. Calls block for at most `wait`. A shim
// that does not respond or has ended gives an error.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/os/files.h"
#include "base/types/result.h"
#include "base/types/time.h"
#include "exec/lease/control.h"

namespace muster {

struct ShimStatus {
  std::string state;  // "running", "ending" or "sweeping".
  int ranks_running = 0;
  Limits limits;
  double cpu_s = 0;
  std::int64_t mem_bytes = 0;
  std::int64_t log_lost_bytes = 0;
  std::string log_trouble;
};

// Sends a resize, stop or kill. Returns the error of the shim or of the connection.
MaybeError ask_shim(const Fd& directory, const Request& request, Duration wait);

Result<ShimStatus> ask_status(const Fd& directory, Duration wait);

}  // namespace muster
