// Arguments and output of squeue.

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "exec/slurm/marked_table.h"
#include "exec/slurm/slurm.h"

namespace muster {
namespace {

// Free text of users comes last.
constexpr std::array<std::string_view, 10> kJobFields = {
    "JobID",       "State",    "UserName", "Partition", "ArrayJobID",
    "ArrayTaskID", "NodeList", "Reason",   "Name",      "Comment"};

std::string unless_none(std::string_view text) {
  return text == "(null)" || text == "N/A" ? "" : std::string(text);
}

std::optional<SlurmJob> job_of(const std::vector<std::string_view>& row) {
  SlurmJob job;
  job.id = slurm_number(row[0]);
  job.state = row[1];
  if (job.id <= 0 || job.state.empty()) return std::nullopt;
  job.user = row[2];
  job.partition = row[3];
  job.array_task = unless_none(row[5]);
  if (!job.array_task.empty()) job.array = std::max<SlurmId>(slurm_number(row[4]), 0);
  auto nodes = expand_hosts(unless_none(row[6]));
  if (!nodes.ok()) return std::nullopt;
  job.nodes = std::move(nodes).value();
  job.reason = row[7] == "None" ? "" : unless_none(row[7]);
  job.name = row[8];
  job.comment = unless_none(row[9]);
  return job;
}

}  // namespace

bool SlurmJob::held() const { return pending() && reason.starts_with("JobHeld"); }

bool SlurmJob::over() const {
  constexpr std::array<std::string_view, 10> kOver = {
      "COMPLETED", "CANCELLED", "FAILED",        "TIMEOUT", "NODE_FAIL",
      "PREEMPTED", "BOOT_FAIL", "OUT_OF_MEMORY", "REVOKED", "DEADLINE"};
  return std::find(kOver.begin(), kOver.end(), state) != kOver.end();
}

std::vector<std::string> squeue_argv(const std::string& partition) {
  std::vector<std::string> argv = {
      "squeue", "--noheader", "--all", "--states=all",
      "--Format=" + marked_format({kJobFields.begin(), kJobFields.end()}, random_mark())};
  if (!partition.empty()) argv.push_back("--partition=" + partition);
  return argv;
}

Result<std::vector<SlurmJob>> read_squeue(std::string_view text) {
  const auto rows = read_marked(text, kJobFields.size(), "squeue");
  if (!rows.ok()) return rows.error();
  std::vector<SlurmJob> jobs;
  for (const auto& row : rows.value()) {
    if (auto job = job_of(row)) jobs.push_back(std::move(*job));
  }
  return jobs;
}

}  // namespace muster
