#pragma once

// A command to Slurm that is under way: what it is for, and since when it runs.

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
  std::int64_t since = 0;    // Microseconds since the machine was started.
  std::string lease;         // The subject of kSubmit: this lease
  int group = 0;             // and this group of it.
  std::vector<SlurmId> ids;  // The subjects of kRelease and kCancel.
};

}  // namespace muster
