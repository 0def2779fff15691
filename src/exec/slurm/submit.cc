// Arguments of sbatch, release and cancel, and the output of sbatch.

#include <fmt/format.h>

#include <algorithm>

#include "base/os/account.h"
#include "base/text/text.h"
#include "exec/slurm/marked_table.h"
#include "exec/slurm/slurm.h"

namespace muster {
namespace {

// "--option=value" is one argument, so a value is never parsed as an option.
std::string option(std::string_view name, std::string_view value) {
  return fmt::format("--{}={}", name, one_line(value));
}

std::string joined(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  return list;
}

std::string joined(const std::vector<SlurmId>& jobs) {
  std::vector<std::string> names;
  for (const SlurmId job : jobs) names.push_back(std::to_string(job));
  return joined(names);
}

// With "--uid" alone, the job would run in our group, root's. For an unknown user, sbatch itself
// reports the error.
std::string group_of(const std::string& user) {
  constexpr gid_t kNobodys = 65534;
  const Result<Account> found = find_account(user);
  return std::to_string(found.ok() ? found.value().group : kNobodys);
}

}  // namespace

std::vector<std::string> submit_argv(const SlurmSubmit& job) {
  std::vector<std::string> argv = {"sbatch", "--parsable", "--no-requeue", "--ignore-pbs"};
  // Export the environment of an empty file. With NONE or NIL, slurmd would run a login shell of
  // the user, which can take seconds, and srun would drop the variables that the script sets.
  argv.insert(argv.end(), {"--export=ALL", "--export-file=/dev/null"});
  argv.push_back(option("job-name", job.name));
  const auto unless_empty = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) argv.push_back(option(name, value));
  };
  unless_empty("comment", job.comment);
  unless_empty("partition", job.partition);
  unless_empty("reservation", job.reservation);
  unless_empty("account", job.account);
  unless_empty("qos", job.qos);
  if (!job.user.empty()) {
    argv.push_back(option("uid", job.user));
    argv.push_back(option("gid", job.group.empty() ? group_of(job.user) : job.group));
  }
  argv.push_back(fmt::format("--nodes={}", std::max<std::size_t>(job.nodes.size(), 1)));
  unless_empty("nodelist", joined(job.nodes));
  argv.push_back("--ntasks-per-node=1");
  argv.push_back(fmt::format("--cpus-per-task={}", job.cpus));
  if (job.mem_mib > 0) argv.push_back(fmt::format("--mem={}M", job.mem_mib));
  if (job.gpus > 0) argv.push_back(fmt::format("--gres=gpu:{}", job.gpus));
  if (job.time > Duration()) {
    const std::int64_t seconds = (job.time.us() - 1) / 1'000'000 + 1;
    argv.push_back(fmt::format("--time={}:{:02}", seconds / 60, seconds % 60));
  }
  argv.push_back(option("output", job.output.empty() ? "/dev/null" : job.output));
  unless_empty("chdir", job.cwd);
  unless_empty("array", job.array);
  if (job.hold) argv.emplace_back("--hold");
  return argv;
}

Result<SlurmId> read_submitted(std::string_view text) {
  // Plugins of a site can print other lines first.
  std::string_view line = trim(text);
  if (const std::size_t end = line.rfind('\n'); end != std::string_view::npos) {
    line = trim(line.substr(end + 1));
  }
  const auto id = parse_int(line.substr(0, line.find(';')));
  if (!id.ok() || id.value() <= 0) {
    return Error{"sbatch: no job id in its output: " + in_quotes(line), ErrorCode::kCorrupt};
  }
  return id.value();
}

std::vector<std::string> release_argv(const std::vector<SlurmId>& jobs) {
  return {"scontrol", "release", joined(jobs)};
}

std::vector<std::string> cancel_argv(const std::vector<SlurmId>& jobs) {
  std::vector<std::string> argv = {"scancel", "--quiet"};
  for (const SlurmId job : jobs) argv.push_back(std::to_string(job));
  return argv;
}

}  // namespace muster
