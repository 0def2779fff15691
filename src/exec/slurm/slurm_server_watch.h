#pragma once

// The servers of a partition while a SlurmExecutor uses it: whether they take jobs, what others
// hold there, and which changes have not been reported yet. The executor passes each answer of
// sinfo and squeue to it. It does no I/O.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exec/lease/executor.h"
#include "exec/slurm/slurm_lease.h"
#include "exec/slurm/slurm_servers.h"

namespace muster {

class SlurmServerWatch {
 public:
  using JobsByNode = std::map<std::string, std::vector<SlurmId>>;

  // As `scontrol` answered last; used from the next take_nodes() on.
  void set_switches(std::vector<std::pair<std::string, std::string>> switches);
  void set_reservation(SlurmWords reservation) { reservation_ = std::move(reservation); }
  void set_enforces(bool enforces) { enforces_ = enforces; }
  // Servers as they were reported before this process started.
  void set_known(std::vector<ServerFacts> facts) { facts_ = std::move(facts); }

  // An answer of sinfo. `ours` and `with_strangers` are by the squeue before it.
  void take_nodes(const SlurmSettings& settings, const std::vector<SlurmNode>& nodes,
                  JobsByNode ours, std::set<std::string> with_strangers);
  // An answer of squeue. Computes what others hold from the last answer of sinfo: what is in use,
  // less what is ours, on servers where ours was the same before and after. Returns false if there
  // was no sinfo since the last call.
  bool judge_strangers(const JobsByNode& ours, const std::map<std::string, SlurmLease>& leases);
  // Notes news of each server that differs from its last. `trouble`: why none can be used, if so.
  void update(const SlurmSettings& settings, const std::string& trouble);

  std::vector<ServerNews> take_news() { return std::exchange(fresh_news_, {}); }
  std::optional<std::vector<ServerFacts>> take_changed() {
    return std::exchange(changed_, std::nullopt);
  }

  bool was_asked() const { return !nodes_.empty(); }
  const SlurmNode* find_node(const std::string& name) const;  // Null: not ours to see.
  bool answers(const std::string& node) const;                // As far as we know.
  bool reaches(const std::string& node) const;  // Slurm does, and ends what is to end there.
  const std::map<std::string, std::string>& addresses() const { return addresses_; }
  // Why the partition cannot be used; empty if it can.
  const std::string& trouble() const { return trouble_; }

 private:
  std::vector<SlurmNode> nodes_;  // Of the partition, with GPUs.
  std::vector<std::pair<std::string, std::string>> switches_;
  SlurmWords reservation_;
  bool enforces_ = false;
  std::string trouble_;
  std::map<std::string, std::string> addresses_;
  std::vector<ServerFacts> facts_;  // As last told.
  std::optional<std::vector<ServerFacts>> changed_;
  std::map<std::string, ServerNews> news_;  // As last told.
  std::vector<ServerNews> fresh_news_;
  std::map<std::string, ServerNews> taken_;  // What others hold.
  struct Before {  // Of the last sinfo: who was where according to the squeue before it.
    JobsByNode ours;
    std::set<std::string> with_strangers;
    bool fresh = false;
  };
  Before before_;
};

}  // namespace muster
