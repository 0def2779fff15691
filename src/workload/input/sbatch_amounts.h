#pragma once

// What a batch script says about CPUs and memory, of which Slurm has many ways: by node, by task,
// by CPU and by GPU. Muster's are for the whole job. For sbatch.cc.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/job_request.h"

namespace muster {

class SlurmAmounts {
 public:
  // mem, mem-per-cpu, mem-per-gpu, cpus-per-task or cpus-per-gpu. Says what is wrong with the
  // value.
  Refusal take(std::string_view option, std::string_view value);
  // Once the GPUs of the request are known.
  void put_into(JobRequest& request, std::int64_t nodes, std::int64_t tasks);
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::optional<MemAmount> mem_, mem_per_cpu_, mem_per_gpu_;
  std::optional<std::int64_t> cpus_per_task_, cpus_per_gpu_;
  std::vector<std::string> notes_;
};

}  // namespace muster
