// Evaluates the slurm.conf of a site.

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text.h"
#include "exec/slurm/site_check.h"

namespace muster {
namespace {

using Level = SiteFinding::Level;

constexpr std::string_view kKnownVersion = "22.05";

// Returns 30 for "30 sec"; negative if it is not a number.
std::int64_t seconds_of(std::string_view value) {
  const auto number = parse_int(value.substr(0, value.find(' ')));
  return number.ok() ? number.value() : -1;
}

// Returns the value of "name" or "name=value" in a comma-separated list; nullopt if missing.
std::optional<std::string> parameter(std::string_view list, std::string_view name) {
  for (std::string_view word : split(list, ',')) {
    word = trim(word);
    if (word == name) return "";
    if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) {
      return std::string(word.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

SiteFinding judge_starts(const SlurmWords& config) {
  const std::string_view list = word_of(config, "SchedulerParameters");
  const auto delay = parameter(list, "batch_sched_delay");
  if (parameter(list, "defer") || parameter(list, "defer_batch")) {
    return {Level::kWarn, "start",
            "SchedulerParameters has defer: jobs start in the next scheduling cycle, up to a "
            "minute after their release; remove defer for faster starts"};
  }
  if (delay && (*delay == "0" || *delay == "1")) {
    return {Level::kOk, "start",
            fmt::format("batch_sched_delay={}: a released job runs within about 0.8 s", *delay)};
  }
  return {Level::kWarn, "start",
          fmt::format("batch_sched_delay is {} s: a released job runs after about 2.8 s instead of "
                      "0.8 s; set SchedulerParameters=batch_sched_delay=0,sched_min_interval=0",
                      delay ? *delay : "3")};
}

SiteFinding judge_kill_wait(const SlurmWords& config, Duration grace) {
  const std::int64_t wait = seconds_of(word_of(config, "KillWait"));
  const std::int64_t needed = grace.us() / 1'000'000;
  if (wait >= needed) {
    return {
        Level::kOk, "KillWait",
        fmt::format("{} s between TERM and KILL, at least Muster's grace of {} s", wait, needed)};
  }
  return {Level::kWarn, "KillWait",
          fmt::format("{} s between TERM and KILL, less than Muster's grace of {} s: a job that "
                      "Slurm ends may lose its last checkpoint; set KillWait={}",
                      wait, needed, needed)};
}

SiteFinding judge_job_age(const SlurmWords& config) {
  const std::int64_t age = seconds_of(word_of(config, "MinJobAge"));
  if (age == 0 || age >= 60) {
    return {Level::kOk, "MinJobAge",
            age == 0 ? "0: Slurm keeps finished jobs"
                     : fmt::format("{} s: Slurm keeps the exit state of jobs for that time", age)};
  }
  return {
      Level::kWarn, "MinJobAge",
      fmt::format("{} s: Slurm may forget a job before Muster reads its exit state, and the job "
                  "then counts as lost; set MinJobAge=300",
                  age)};
}

SiteFinding judge_node_timeout(const SlurmWords& config) {
  const std::int64_t timeout = seconds_of(word_of(config, "SlurmdTimeout"));
  if (timeout <= 0) {
    return {Level::kWarn, "SlurmdTimeout",
            "0: Slurm never marks an unresponsive node as down, so its jobs never start elsewhere; "
            "set SlurmdTimeout=60"};
  }
  // Measured with 30 s: 47 to 52 s.
  const std::string words = fmt::format("{} s: Slurm marks a failed node as down after about {} s",
                                        timeout, timeout * 17 / 10);
  if (timeout <= 120) return {Level::kOk, "SlurmdTimeout", words};
  return {Level::kWarn, "SlurmdTimeout",
          words + ", and its jobs start elsewhere only then; set SlurmdTimeout=60"};
}

SiteFindings judge_plugins(const SlurmWords& config) {
  SiteFindings found;
  const std::string_view task = word_of(config, "TaskPlugin");
  const bool cgroup = task.find("cgroup") != std::string_view::npos;
  found.push_back(
      {cgroup ? Level::kOk : Level::kWarn, "TaskPlugin",
       cgroup
           ? fmt::format("{}: Slurm enforces the limits in cgroup.conf", task)
           : fmt::format("{}: Slurm does not limit jobs to their CPUs, memory and GPUs, so a job "
                         "that exceeds them slows others; use task/cgroup with ConstrainRAMSpace, "
                         "ConstrainCores and ConstrainDevices",
                         task.empty() ? "task/none" : task)});
  const std::string_view track = word_of(config, "ProctrackType");
  const bool all = track.find("cgroup") != std::string_view::npos;
  found.push_back(
      {all ? Level::kOk : Level::kWarn, "ProctrackType",
       all ? fmt::format("{}: no process outlives its job", track)
           : fmt::format("{}: processes that leave their session can outlive their job; use "
                         "proctrack/cgroup",
                         track)});
  const std::string_view preempt = word_of(config, "PreemptType");
  const bool none = preempt.empty() || preempt == "preempt/none" || preempt == "(null)";
  found.push_back(
      {none ? Level::kOk : Level::kWarn, "PreemptType",
       none ? "preempt/none: only Muster preempts its jobs"
            : fmt::format("{}, PreemptMode={}: Slurm may end Muster's jobs for others, and Muster "
                          "restarts them; exempt the partition with PreemptMode=OFF",
                          preempt, word_of(config, "PreemptMode"))});
  return found;
}

SiteFindings judge_rights(const SlurmWords& config, const SiteQuestion& question,
                          const SiteCaller& caller) {
  SiteFindings found;
  if (caller.root) {
    found.push_back({Level::kOk, "rights", "root: jobs run as the users who submit them"});
  } else {
    found.push_back({Level::kWarn, "rights",
                     fmt::format("not root: jobs of all users run as '{}'; run muster serve as "
                                 "root to run them as their users",
                                 caller.user)});
  }
  const std::string hidden = lowered(word_of(config, "PrivateData"));
  if (!caller.root &&
      (hidden.find("jobs") != std::string::npos || hidden.find("nodes") != std::string::npos)) {
    found.push_back({Level::kWarn, "PrivateData",
                     fmt::format("{}: jobs of other users are hidden from '{}', so Muster cannot "
                                 "show them; make this user a Slurm operator",
                                 hidden, caller.user)});
  }
  const std::string enforced = lowered(word_of(config, "AccountingStorageEnforce"));
  if (enforced.find("associations") != std::string::npos && question.account.empty()) {
    found.push_back({Level::kWarn, "account",
                     "AccountingStorageEnforce has associations: each user needs a default account "
                     "in Slurm, or set one in the configuration (slurm: account)"});
  }
  return found;
}

}  // namespace

SiteFindings judge_versions(const std::vector<std::pair<std::string, std::string>>& versions) {
  std::string first;
  for (const auto& [command, said] : versions) {
    const std::string_view text = trim(said);
    const std::string version(text.substr(text.rfind(' ') + 1));
    if (first.empty()) first = version;
    if (version != first) {
      return {{Level::kWarn, "version",
               fmt::format("{} is {}, {} is {}: use commands of the same version",
                           versions[0].first, first, command, version)}};
    }
  }
  if (first.starts_with(kKnownVersion)) {
    return {{Level::kOk, "version", fmt::format("Slurm {}", first)}};
  }
  return {{Level::kWarn, "version",
           fmt::format("Slurm {}: Muster is tested only with {}; use --deep to check whether it "
                       "works",
                       first, kKnownVersion)}};
}

SiteFindings judge_select(const SlurmWords& config) {
  SiteFindings found;
  const std::string_view type = word_of(config, "SelectType");
  if (type == "select/cons_tres") {
    found.push_back({Level::kOk, "SelectType", "select/cons_tres: jobs share nodes"});
  } else if (type == "select/cons_res") {
    found.push_back(
        {Level::kWarn, "SelectType",
         "select/cons_res: jobs share nodes, but Muster is not tested with it and GPUs are not "
         "bound to the CPUs near them; use select/cons_tres"});
  } else {
    found.push_back(
        {Level::kFail, "SelectType",
         fmt::format("{}: each job gets whole nodes, so jobs cannot share the GPUs, CPUs "
                     "and memory of a node; use select/cons_tres",
                     type.empty() ? "unknown" : type)});
  }
  const std::string counted = lowered(word_of(config, "SelectTypeParameters"));
  const bool memory = counted.find("memory") != std::string::npos;
  if (counted.find("cr_socket") != std::string::npos) {
    found.push_back({Level::kWarn, "SelectTypeParameters",
                     fmt::format("{}: Slurm allocates whole sockets, so jobs get more CPUs than "
                                 "Muster assigns; use CR_Core_Memory or CR_CPU_Memory",
                                 counted)});
  } else {
    found.push_back(
        {memory ? Level::kOk : Level::kWarn, "SelectTypeParameters",
         memory
             ? fmt::format("{}: Slurm tracks CPUs and memory", counted)
             : fmt::format("{}: Slurm does not track memory, so external jobs may use memory that "
                           "Muster assigned; use CR_Core_Memory or CR_CPU_Memory",
                           counted.empty() ? "none" : counted)});
  }
  const bool gpus = parameter(word_of(config, "GresTypes"), "gpu").has_value();
  if (!gpus) {
    found.push_back({Level::kFail, "GresTypes",
                     "no gpu: Slurm does not manage GPUs, so no job can get one; set "
                     "GresTypes=gpu, Gres=gpu:N for the nodes, and gres.conf"});
  }
  return found;
}

SiteFindings judge_settings(const SlurmWords& config, const SiteQuestion& question,
                            const SiteCaller& caller) {
  SiteFindings found = judge_rights(config, question, caller);
  found.push_back(judge_starts(config));
  found.push_back(judge_job_age(config));
  found.push_back({Level::kOk, "JobRequeue",
                   word_of(config, "JobRequeue") == "0"
                       ? "0: Slurm does not requeue jobs"
                       : "1: Muster submits with --no-requeue and restarts its jobs itself"});
  found.push_back(judge_node_timeout(config));
  found.push_back(judge_kill_wait(config, question.grace));
  for (SiteFinding& finding : judge_plugins(config)) found.push_back(std::move(finding));
  return found;
}

SiteFinding judge_skew(const std::string& whose, double seconds) {
  constexpr double kMuch = 2;
  constexpr double kTooMuch = 240;  // Munge rejects a difference of 300 s.
  const double off = seconds < 0 ? -seconds : seconds;
  if (off < kMuch)
    return {Level::kOk, "clock", fmt::format("{}: within 2 s of this machine", whose)};
  return {off < kTooMuch ? Level::kWarn : Level::kFail, "clock",
          fmt::format("{}: {:.0f} s {} this machine: times in logs and leases differ{}; run "
                      "NTP on both",
                      whose, off, seconds > 0 ? "ahead of" : "behind",
                      off < kTooMuch ? "" : ", and munge rejects a difference of 300 s")};
}

}  // namespace muster
