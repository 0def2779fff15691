#include "workload/input/sbatch_amounts.h"

#include <fmt/format.h>

#include "base/text/text.h"
#include "base/types/saturate.h"

namespace muster {

MaybeError SlurmAmounts::take(std::string_view option, std::string_view value) {
  if (option.starts_with("mem")) {
    const Result<MemAmount> mem = parse_mem(value, "M");
    if (!mem.ok()) return mem.error();
    if (mem.value().mib < 0) return Error{"negative: " + in_quotes(value)};
    (option == "mem" ? mem_ : option == "mem-per-cpu" ? mem_per_cpu_ : mem_per_gpu_) = mem.value();
    return std::nullopt;
  }
  const Result<std::int64_t> count = parse_int(value);
  if (!count.ok()) return count.error();
  if (count.value() < 1 || count.value() > kMaxRequestCpus.milli / 1000) {
    return Error{
        fmt::format("not between 1 and {}: {}", kMaxRequestCpus.milli / 1000, in_quotes(value))};
  }
  (option == "cpus-per-task" ? cpus_per_task_ : cpus_per_gpu_) = count.value();
  return std::nullopt;
}

void SlurmAmounts::put_into(JobRequest& request, std::int64_t nodes, std::int64_t tasks) {
  std::int64_t cpus = 0;
  if (cpus_per_task_) cpus = saturating_multiply(*cpus_per_task_, tasks);
  if (cpus_per_gpu_) cpus = saturating_multiply(*cpus_per_gpu_, request.gpus);
  if (cpus > 0) request.cpus = CpuAmount{saturating_multiply(cpus, 1000)};
  std::int64_t mib = 0;
  if (mem_) mib = saturating_multiply(mem_->mib, nodes);
  // By default, Slurm gives each task one CPU.
  if (mem_per_cpu_) mib = saturating_multiply(mem_per_cpu_->mib, cpus > 0 ? cpus : tasks);
  if (mem_per_gpu_) mib = saturating_multiply(mem_per_gpu_->mib, request.gpus);
  if (mib > 0) request.mem = MemAmount{mib};
  if (mem_ && mem_->mib == 0) {
    notes_.emplace_back(
        "--mem=0 is ignored: Muster shares nodes and never gives a job all memory of a node");
  }
}

}  // namespace muster
