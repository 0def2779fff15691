#pragma once

// Asks a shim over its control socket, and waits for the answer for a bounded time: a shim that
// is frozen or gone is an error in one line, never a hang. Used by LocalExecutor.

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

// The answer to a resize, stop or kill.
Refusal ask_shim(const Fd& directory, const Request& request, Duration wait);

Result<ShimStatus> ask_status(const Fd& directory, Duration wait);

}  // namespace muster
