#pragma once

// Starts the shims of leases on this machine. SpawnedShims starts them as children of the caller.
// For one thread.

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/os/files.h"
#include "base/types/result.h"

namespace muster {

struct StartedShim {
  pid_t pid = 0;
  Fd process;          // A pidfd.
  bool child = false;  // The caller must reap it.
};

class ShimStarter {
 public:
  virtual ~ShimStarter() = default;
  // Starts the shim of the lease with this record directory. The shim writes to `errors` why it
  // does not start the job, and closes it when it does. On error, no shim runs.
  virtual Result<StartedShim> start(const std::string& directory, const Fd& errors) = 0;
};

class SpawnedShims final : public ShimStarter {
 public:
  explicit SpawnedShims(std::string program) : program_(std::move(program)) {}
  Result<StartedShim> start(const std::string& directory, const Fd& errors) override;

 private:
  std::string program_;  // Path of muster-shim.
};

}  // namespace muster
