// Evaluates a partition and its nodes.

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text.h"
#include "exec/slurm/site_check.h"

namespace muster {
namespace {

using Level = SiteFinding::Level;

bool lists(std::string_view list, const std::string& name) {
  for (const std::string_view entry : split(list, ',')) {
    if (entry == name) return true;
  }
  return false;
}

bool anybody(std::string_view list) {
  return list.empty() || list == "ALL" || list == "(null)" || list == "N/A";
}

std::optional<SiteFinding> judge_groups(const SlurmWords& partition, const SiteCaller& caller) {
  const std::string_view groups = word_of(partition, "AllowGroups");
  if (anybody(groups)) return std::nullopt;
  if (caller.root) {
    return SiteFinding{Level::kWarn, "AllowGroups",
                       fmt::format("{}: only users in these groups can run jobs here", groups)};
  }
  for (const std::string& group : caller.groups) {
    if (lists(groups, group)) return std::nullopt;
  }
  return SiteFinding{Level::kFail, "AllowGroups",
                     fmt::format("{}: '{}' is not in these groups and cannot submit; join one, or "
                                 "use another partition",
                                 groups, caller.user)};
}

// For accounts and QOS.
std::optional<SiteFinding> judge_list(std::string_view allowed, const std::string& check,
                                      const std::string& what, const std::string& used) {
  if (anybody(allowed)) return std::nullopt;
  if (used.empty()) {
    return SiteFinding{Level::kWarn, check,
                       fmt::format("{}: jobs need one of these; set it in the configuration "
                                   "(slurm: {})",
                                   allowed, what)};
  }
  if (lists(allowed, used)) return std::nullopt;
  return SiteFinding{
      Level::kFail, check,
      fmt::format("{}: '{}' is not in this list, so Slurm rejects all jobs; set one of "
                  "these in the configuration (slurm: {})",
                  allowed, used, what)};
}

SiteFindings judge_sharing(const SlurmWords& partition) {
  SiteFindings found;
  if (const std::string_view shared = word_of(partition, "OverSubscribe"); shared == "EXCLUSIVE") {
    found.push_back({Level::kFail, "OverSubscribe",
                     "EXCLUSIVE: each job gets whole nodes, so jobs cannot share a node; set "
                     "OverSubscribe=NO for this partition"});
  } else if (shared.starts_with("FORCE") || shared.starts_with("YES")) {
    found.push_back({Level::kWarn, "OverSubscribe",
                     fmt::format("{}: two jobs can get the same CPU at the same time, so jobs do "
                                 "not get what Muster assigns; set OverSubscribe=NO",
                                 shared)});
  }
  if (word_of(partition, "ExclusiveUser") == "YES") {
    found.push_back({Level::kWarn, "ExclusiveUser",
                     "YES: jobs of different users never share a node, but Muster plans so; set "
                     "ExclusiveUser=NO"});
  }
  for (const char* limit : {"MaxMemPerNode", "MaxMemPerCPU", "MaxCPUsPerNode", "MaxNodes"}) {
    const std::string_view value = word_of(partition, limit);
    if (value.empty() || value == "UNLIMITED") continue;
    found.push_back({Level::kWarn, limit,
                     fmt::format("{}: Slurm rejects jobs to which Muster assigns more", value)});
  }
  return found;
}

SiteFinding judge_time(const SlurmWords& partition) {
  const std::string_view most = word_of(partition, "MaxTime");
  if (most.empty() || most == "UNLIMITED") {
    return {Level::kOk, "MaxTime", "no limit: jobs run until Muster stops them"};
  }
  return {Level::kWarn, "MaxTime",
          fmt::format("{}: Slurm ends every job after that time, and Muster restarts it from its "
                      "checkpoint; set MaxTime=UNLIMITED",
                      most)};
}

}  // namespace

SiteFindings judge_partition(const SlurmWords& partition, const SiteQuestion& question,
                             const SiteCaller& caller) {
  SiteFindings found;
  const std::string name(word_of(partition, "PartitionName"));
  if (name.empty()) {
    found.push_back({Level::kFail, "partition",
                     "there is no default partition; specify one with --partition, or with "
                     "slurm: partition in the configuration"});
    return found;
  }
  const std::string_view state = word_of(partition, "State");
  found.push_back({state == "UP" ? Level::kOk : Level::kFail, "partition",
                   state == "UP"
                       ? fmt::format("'{}' is up, {} nodes", name, word_of(partition, "TotalNodes"))
                       : fmt::format("'{}' is {}: no job starts; run scontrol update "
                                     "PartitionName={} State=UP",
                                     name, state, name)});
  if (word_of(partition, "RootOnly") == "YES" && !caller.root) {
    found.push_back({Level::kFail, "RootOnly",
                     "YES: only root can submit here; run muster serve as root, or use another "
                     "partition"});
  }
  if (word_of(partition, "ReqResv") == "YES" && question.reservation.empty()) {
    found.push_back({Level::kFail, "ReqResv",
                     "YES: only jobs with a reservation are accepted; set one in the configuration "
                     "(slurm: reservation)"});
  }
  for (auto& finding :
       {judge_groups(partition, caller),
        judge_list(word_of(partition, "AllowAccounts"), "AllowAccounts", "account",
                   question.account),
        judge_list(word_of(partition, "AllowQos"), "AllowQos", "qos", question.qos)}) {
    if (finding) found.push_back(*finding);
  }
  found.push_back(judge_time(partition));
  for (SiteFinding& finding : judge_sharing(partition)) found.push_back(std::move(finding));
  return found;
}

SiteFindings judge_nodes(const std::vector<SlurmNode>& nodes, bool in_reservation) {
  SiteFindings found;
  std::vector<std::string> without, closed;
  std::int64_t gpus = 0;
  std::int64_t busy = 0;
  for (const SlurmNode& node : nodes) {
    if (node.gpus == 0) without.push_back(node.name);
    gpus += node.gpus;
    busy += node.gpus_used;
    if (!node.usable(in_reservation)) closed.push_back(node.name + " (" + node.why_not() + ")");
  }
  const std::size_t open = nodes.size() - closed.size();
  if (nodes.empty()) {
    found.push_back({Level::kFail, "nodes", "the partition has no nodes"});
    return found;
  }
  if (closed.empty()) {
    found.push_back({Level::kOk, "nodes", fmt::format("all {} accept jobs", nodes.size())});
  } else {
    found.push_back(
        {open == 0 ? Level::kFail : Level::kWarn, "nodes",
         fmt::format("{} of {} accept jobs; not: {}", open, nodes.size(), first_few(closed))});
  }
  if (gpus == 0) {
    found.push_back({Level::kFail, "GPUs",
                     "no node has GPUs in Slurm, so no job can get one; check Gres= of the "
                     "nodes and gres.conf"});
  } else if (!without.empty()) {
    found.push_back({Level::kWarn, "GPUs",
                     fmt::format("{}, {} in use; none on {} of {} nodes: {}", gpus, busy,
                                 without.size(), nodes.size(), first_few(without))});
  } else {
    found.push_back(
        {Level::kOk, "GPUs", fmt::format("{} on {} nodes, {} in use", gpus, nodes.size(), busy)});
  }
  return found;
}

}  // namespace muster
