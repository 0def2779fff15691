#pragma once

// Executor that runs leases in a partition of a Slurm cluster. Each group of equal parts of a lease
// is one batch job on fixed nodes, whose script runs the shims. It is submitted held, and released
// when all groups of the lease are in the queue (docs/how-to/slurm.md). Slurm can lose its state.
// The records of a lease are therefore on disk first, and the comments of its jobs contain manager,
// lease and group. reconcile() compares both after each squeue: it submits missing jobs, releases
// held jobs, cancels unknown jobs, and ignores external jobs.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/os/account.h"
#include "base/types/result.h"
#include "exec/lease/executor.h"
#include "exec/slurm/command_runner.h"
#include "exec/slurm/slurm.h"
#include "exec/slurm/slurm_contact.h"
#include "exec/slurm/slurm_lease.h"
#include "exec/slurm/slurm_node_set.h"
#include "exec/slurm/slurm_node_watch.h"
#include "exec/slurm/slurm_query.h"

namespace muster {

class SlurmExecutor final : public Executor {
 public:
  // `servers`: the last known nodes. `trouble`: why Slurm could not be queried, or "".
  static Result<std::unique_ptr<SlurmExecutor>> open(SlurmSettings settings,
                                                     std::vector<NodeDescription> nodes,
                                                     std::string trouble);

  std::vector<MaybeError> start(std::span<const LaunchSpec> parts) override;
  std::vector<AdoptResult> adopt(std::span<LaunchSpec> parts, bool was_up, bool stopping) override;
  MaybeError stop(const std::string& part, std::optional<std::int64_t> grace_ms) override;
  MaybeError kill(const std::string& part) override;
  Result<std::string> resize(const std::string& part, Limits limits) override;
  bool forget(const std::string& part) override;
  std::vector<std::string> end_unknown_leases(std::span<const Name> known) override;
  std::vector<std::string> command_on(const std::string& node,
                                      std::vector<std::string> command) const override;
  int fd() const override { return epoll_.get(); }
  std::vector<ExecEvent> poll() override;
  std::vector<NodeUpdate> nodes() override { return nodes_.take_news(); }
  std::optional<std::vector<NodeDescription>> changed_nodes() override;
  std::vector<std::string> troubles() override { return std::exchange(troubles_, {}); }

 private:
  using Command = SlurmQuery::Command;
  using Running = SlurmQuery;

  explicit SlurmExecutor(SlurmSettings settings) : settings_(std::move(settings)) {}

  // slurm_executor.cc and slurm_adopt.cc
  MaybeError make_lease(std::span<const LaunchSpec> parts, SlurmLease& lease) const;
  struct Records;  // Records of a lease of an earlier daemon.
  Records read_records(std::span<LaunchSpec> parts, bool may_have_run);
  bool may_go_on(std::span<const LaunchSpec> parts, const std::string& name);
  MaybeError write_records(const SlurmLease& lease, const Account* owner_to_be) const;
  void adopt(const std::string& name, SlurmLease lease, bool stopping);
  SlurmPart* find(const std::string& part, SlurmLease** lease = nullptr);
  MaybeError write_remote_order(SlurmPart& part) const;
  MaybeError end_unstarted(const SlurmLease& lease, SlurmPart& part, EndCause cause,
                           std::string words, int error_number = 0);
  std::string directory_of(const SlurmPart& part) const;
  const SlurmJob* row_of(const SlurmLease& lease, int group) const;  // Null if Slurm has none.
  void tell(ExecEvent::Kind kind, const SlurmPart& part, std::string why = {});

  // slurm_drive.cc
  void drive(std::int64_t now);
  void take(const Running& ran, const CommandResult& result);
  void take_queue(const Running& ran, const CommandResult& result);
  void take_nodes(const CommandResult& result);
  void seen_config();
  void released(const Running& ran, bool ok);
  void submit(const std::string& name, SlurmLease& lease, int group);
  void submitted(const Running& ran, const CommandResult& result);
  void refused(SlurmLease& lease, SlurmGroup& group, const std::string& words);
  void release(std::int64_t now);
  void cancel(std::int64_t now);
  void run(Command what, std::vector<std::string> argv, Running with = {}, std::string input = {});
  bool under_way(Command what) const;
  void set_timer(std::int64_t now);
  const std::string& trouble() const { return contact_.reason(nodes_.trouble()); }
  void tell_trouble();

  // slurm_reconcile.cc and slurm_watch.cc
  void reconcile(const std::vector<SlurmJob>& jobs, std::int64_t asked);
  void reconcile(SlurmLease& lease, SlurmGroup& group, std::int64_t asked);
  void row_ended(SlurmLease& lease, SlurmGroup& group, const SlurmJob* row);
  void part_ended(SlurmLease& lease, SlurmPart& part, const std::string& why);
  void retire(SlurmPart& part, const std::string& why);
  void make_room(const SlurmLease& waiting, const SlurmGroup& group);
  void restart(SlurmLease& lease, std::string why);
  void watch_node(SlurmLease& lease, SlurmGroup& group);
  void watch_starting(SlurmLease& lease, SlurmGroup& group, const SlurmJob& row);
  void watch_waiting(SlurmLease& lease, SlurmGroup& group, const SlurmJob& row);
  void look_at_records(std::int64_t now);
  void look_at(SlurmLease& lease, SlurmPart& part);
  bool is_ours(const SlurmTag& tag, const SlurmJob& row) const;
  bool is_unasked(const SlurmLease& lease, SlurmPart& part, const ExitReport& report);
  void heard_end(const SlurmLease& lease, SlurmPart& part, ExitReport report);
  void grow(SlurmLease& lease, std::int64_t now);
  void bury(std::int64_t now);
  void cancel_strays(std::int64_t now);
  // Our jobs that use resources, by node. A negative id: the job is ending.
  std::map<std::string, std::vector<SlurmId>> ours_by_node() const;

  SlurmSettings settings_;
  std::optional<Commands> commands_;
  Fd epoll_;
  Fd timer_;
  std::string path_;  // Directory of Slurm's programs.
  bool as_submitter_ = false;
  std::string own_user_;

  std::map<std::string, SlurmLease> leases_;    // By name: "j12.e3".
  std::map<std::string, std::int64_t> buried_;  // Ended leases and when, until Slurm forgets them.
  std::map<std::string, std::int64_t>
      gone_;  // Leases without a record and since when: see take_up().
  std::optional<std::set<std::string>> known_;  // See end_external_jobs().
  std::map<Commands::Ticket, Running> running_;
  std::vector<ExecEvent> events_;
  std::vector<std::string> troubles_;

  // Our jobs in the last squeue, by lease and group.
  std::map<std::pair<std::string, int>, std::vector<SlurmJob>> jobs_;
  std::set<std::string> with_external_jobs_;  // Nodes with external jobs in the last squeue.
  bool seen_jobs_ = false;                    // There was a squeue.
  std::int64_t last_queue_ = 0;
  // Times of the next runs.
  std::int64_t next_queue_ = 0, next_topology_ = 0, next_look_ = 0, next_release_ = 0;
  std::map<SlurmId, std::int64_t> cancelled_;  // Jobs that we cancelled, and when.
  std::set<SlurmId> to_cancel_;

  SlurmContact contact_;
  std::string told_trouble_;
  SlurmNodeWatch nodes_;
  bool seen_config_ = false;  // Configuration, switches and reservation are known.
};

}  // namespace muster
