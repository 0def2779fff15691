#pragma once

// Tracks the nodes of a partition for SlurmExecutor: whether they are usable, what external jobs
// use there, and which changes are not reported yet. The executor passes each result of sinfo and
// squeue to it. It does no I/O.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exec/lease/executor.h"
#include "exec/slurm/slurm_lease.h"
#include "exec/slurm/slurm_node_set.h"

namespace muster {

class SlurmNodeWatch {
 public:
  using JobsByNode = std::map<std::string, std::vector<SlurmId>>;

  // The last results of `scontrol`. They take effect at the next take_nodes().
  void set_switches(std::vector<std::pair<std::string, std::string>> switches);
  void set_reservation(SlurmWords reservation) { reservation_ = std::move(reservation); }
  void set_enforces(bool enforces) { enforces_ = enforces; }
  // Sets the nodes that were known before this process started.
  void set_known(std::vector<NodeDescription> facts) { facts_ = std::move(facts); }

  // Processes a result of sinfo. `ours` and `with_external_jobs` are from the squeue before it.
  void take_nodes(const SlurmSettings& settings, const std::vector<SlurmNode>& nodes,
                  JobsByNode ours, std::set<std::string> with_external_jobs);
  // Processes a result of squeue. Computes the usage of external jobs from the last sinfo: the
  // usage of the node minus the usage of our jobs. Skips nodes where our jobs have changed in
  // between. Returns false if there was no sinfo since the last call.
  bool judge_external_jobs(const JobsByNode& ours, const std::map<std::string, SlurmLease>& leases);
  // Creates an update for each node that has changed. `trouble`: why no node can be used, or "".
  void update(const SlurmSettings& settings, const std::string& trouble);

  std::vector<NodeUpdate> take_news() { return std::exchange(fresh_news_, {}); }
  std::optional<std::vector<NodeDescription>> take_changed() {
    return std::exchange(changed_, std::nullopt);
  }

  bool was_asked() const { return !nodes_.empty(); }
  const SlurmNode* find_node(const std::string& name) const;  // Null if not in the partition.
  bool answers(const std::string& node) const;                // Responds or is unknown.
  bool reaches(const std::string& node) const;  // Slurm reaches it and can end jobs there.
  const std::map<std::string, std::string>& addresses() const { return addresses_; }
  // Why the partition cannot be used; empty if it can.
  const std::string& trouble() const { return trouble_; }

 private:
  std::vector<SlurmNode> nodes_;  // Nodes of the partition, from the last sinfo.
  std::vector<std::pair<std::string, std::string>> switches_;
  SlurmWords reservation_;
  bool enforces_ = false;
  std::string trouble_;
  std::map<std::string, std::string> addresses_;
  std::vector<NodeDescription> facts_;  // As last reported.
  std::optional<std::vector<NodeDescription>> changed_;
  std::map<std::string, NodeUpdate> news_;  // As last reported.
  std::vector<NodeUpdate> fresh_news_;
  std::map<std::string, NodeUpdate> taken_;  // Usage by external jobs.
  struct Before {  // The jobs by node, from the squeue before the last sinfo.
    JobsByNode ours;
    std::set<std::string> with_external_jobs;
    bool fresh = false;
  };
  Before before_;
};

}  // namespace muster
