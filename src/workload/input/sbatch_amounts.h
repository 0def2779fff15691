#pragma once

// Converts the CPU and memory options of a batch script. Slurm's amounts are per node, task, CPU or
// GPU; Muster's are for the whole job. sbatch.cc uses it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/job_request.h"

namespace muster {

class SlurmAmounts {
 public:
  // Reads mem, mem-per-cpu, mem-per-gpu, cpus-per-task or cpus-per-gpu. Errors describe the value;
  // the caller adds the option.
  MaybeError take(std::string_view option, std::string_view value);
  // Sets the CPUs and memory of the request. REQUIRES: request.gpus is set.
  void put_into(JobRequest& request, std::int64_t nodes, std::int64_t tasks);
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::optional<MemAmount> mem_, mem_per_cpu_, mem_per_gpu_;
  std::optional<std::int64_t> cpus_per_task_, cpus_per_gpu_;
  std::vector<std::string> notes_;
};

}  // namespace muster
