#pragma once

// A partition of a Slurm cluster as an Executor. Each group of equal parts of a lease is a batch
// job, submitted held on exactly its servers with exactly its CPUs, memory and GPUs, and released
// when all groups of the lease are there; its script runs the shims (docs/slurm.md).
//
// Nothing here depends on Slurm remembering what it was told. A lease's records are on disk before
// Slurm is asked, its jobs carry cluster, lease and group in their comments, and with every answer
// of squeue the two views are compared: what is missing is submitted again, what is held is
// released again, what nobody wants is cancelled again, and what is not ours is left alone.

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
#include "exec/slurm/commands.h"
#include "exec/slurm/slurm.h"
#include "exec/slurm/slurm_contact.h"
#include "exec/slurm/slurm_lease.h"
#include "exec/slurm/slurm_query.h"
#include "exec/slurm/slurm_server_watch.h"
#include "exec/slurm/slurm_servers.h"

namespace muster {

class SlurmExecutor final : public Executor {
 public:
  // `servers`: as they were told of last. `trouble`: why they could not be asked for, if so.
  static Result<std::unique_ptr<SlurmExecutor>> open(SlurmSettings settings,
                                                     std::vector<ServerFacts> servers,
                                                     std::string trouble);

  std::vector<Refusal> start(std::span<const LaunchSpec> parts) override;
  std::vector<TakenUp> take_up(std::span<LaunchSpec> parts, bool was_up, bool stopping) override;
  Refusal stop(const std::string& part, std::optional<std::int64_t> grace_ms) override;
  Refusal kill(const std::string& part) override;
  Result<std::string> resize(const std::string& part, Limits limits) override;
  bool forget(const std::string& part) override;
  std::vector<std::string> end_strangers(std::span<const Name> known) override;
  std::vector<std::string> command_on(const std::string& server,
                                      std::vector<std::string> command) const override;
  int fd() const override { return epoll_.get(); }
  std::vector<ExecEvent> poll() override;
  std::vector<ServerNews> servers() override { return servers_.take_news(); }
  std::optional<std::vector<ServerFacts>> changed_servers() override;
  std::vector<std::string> troubles() override { return std::exchange(troubles_, {}); }

 private:
  using Command = SlurmQuery::Command;
  using Running = SlurmQuery;

  explicit SlurmExecutor(SlurmSettings settings) : settings_(std::move(settings)) {}

  // slurm.cc
  Refusal make_lease(std::span<const LaunchSpec> parts, SlurmLease& lease) const;
  struct Records;  // Of a lease that an earlier daemon ordered.
  Records read_records(std::span<LaunchSpec> parts, bool may_have_run);
  bool may_go_on(std::span<const LaunchSpec> parts, const std::string& name);
  Refusal write_records(const SlurmLease& lease, const Account* owner_to_be) const;
  void adopt(const std::string& name, SlurmLease lease, bool stopping);
  SlurmPart* find(const std::string& part, SlurmLease** lease = nullptr);
  Refusal write_wish(SlurmPart& part) const;
  Refusal end_unstarted(const SlurmLease& lease, SlurmPart& part, EndCause cause, std::string words,
                        int error_number = 0);
  std::string directory_of(const SlurmPart& part) const;
  const SlurmJob* row_of(const SlurmLease& lease, int group) const;  // Null: Slurm has none.
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
  const std::string& trouble() const { return contact_.reason(servers_.trouble()); }
  void tell_trouble();

  // slurm_reconcile.cc
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
  // Our jobs that hold something, by node. An ID below 0: it is ending.
  std::map<std::string, std::vector<SlurmId>> ours_by_node() const;

  SlurmSettings settings_;
  std::optional<Commands> commands_;
  Fd epoll_;
  Fd timer_;
  std::string path_;  // Of Slurm's programs.
  bool as_submitter_ = false;
  std::string own_user_;

  std::map<std::string, SlurmLease> leases_;    // By name: "j12.e3".
  std::map<std::string, std::int64_t> buried_;  // Over, and since when; until Slurm forgets them.
  std::map<std::string, std::int64_t> gone_;    // Without a trace, and since when: see take_up().
  std::optional<std::set<std::string>> known_;  // See end_strangers().
  std::map<Commands::Ticket, Running> running_;
  std::vector<ExecEvent> events_;
  std::vector<std::string> troubles_;

  // Ours in squeue's last answer, by lease and group.
  std::map<std::pair<std::string, int>, std::vector<SlurmJob>> jobs_;
  std::set<std::string> with_strangers_;  // Nodes where others' jobs are, by the same.
  bool seen_jobs_ = false;                // There was one.
  std::int64_t last_queue_ = 0;
  // When the next of each is due.
  std::int64_t next_queue_ = 0, next_topology_ = 0, next_look_ = 0, next_release_ = 0;
  std::map<SlurmId, std::int64_t> cancelled_;  // And when, by us.
  std::set<SlurmId> to_cancel_;

  SlurmContact contact_;
  std::string told_trouble_;
  SlurmServerWatch servers_;
  bool seen_config_ = false;  // And the switches, and the reservation.
};

}  // namespace muster
