#pragma once

// A running Slurm command: its purpose and start time.

#include <cstdint>
#include <string>
#include <vector>

#include "exec/slurm/slurm.h"

namespace muster {

struct SlurmQuery {
  enum class Command : std::uint8_t {
    kQueue,
    kNodes,
    kTopology,
    kConfig,
    kReservation,
    kPartition,
    kSubmit,
    kRelease,
    kCancel
  };

  Command what = Command::kQueue;
  std::int64_t since = 0;    // Start of the command in boot time, in microseconds.
  std::string lease;         // For kSubmit: the lease.
  int group = 0;             // For kSubmit: the group of the lease.
  std::vector<SlurmId> ids;  // For kRelease and kCancel: the Slurm jobs.
};

}  // namespace muster
