#pragma once

// A partition of a Slurm cluster as an Executor. Each group of equal parts of a lease is a batch
// job, submitted held on exactly its servers with exactly its CPUs, memory and GPUs, and released
// when all groups of the lease are there; its script runs the shims (docs/slurm.md).
//
// Nothing here depends on Slurm remembering what it was told. A lease's records are on disk before
// Slurm is asked, its jobs carry cluster, lease and group in their comments, and with every answer
// of squeue the two views are compared: what is missing is submitted again, what is held is
// released again, what nobody wants is cancelled again, and what is not ours is left alone.
//
//   slurm.cc            orders
//   slurm_take_up.cc    leases of an earlier daemon
//   slurm_drive.cc      commands under way, and when to look again
//   slurm_reconcile.cc  what squeue and the records say of leases
//   slurm_watch.cc      those that do not get on
//   slurm_servers.cc    what sinfo says of servers, and what others hold there

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "exec/executor.h"
#include "exec/slurm_lease.h"
#include "slurm/account.h"
#include "slurm/commands.h"
#include "slurm/slurm.h"

namespace muster {

struct SlurmSettings {
  std::string leases;    // On a file system that all servers see, as is the next.
  std::string shim;      // The program muster-shim.
  std::string instance;  // Whose leases they are: part of the jobs' comments.
  std::string partition;
  std::string reservation;  // This and the next two may be empty.
  std::string account;
  std::string qos;
  std::map<std::string, std::string> racks;         // By server, before Slurm's own topology.
  Duration every = Duration::micros(1'000'000);     // Between two looks at Slurm.
  Duration timeout = Duration::seconds(15);         // Of one command.
  Duration restart_after = Duration::seconds(600);  // Not earlier, to give a lease more CPUs.
};

// What sinfo, topology and configuration say of the partition's servers with GPUs.
struct SlurmServers {
  std::vector<ServerFacts> servers;
  std::map<std::string, std::string> addresses;
};
Result<SlurmServers> servers_from(const SlurmSettings& settings,
                                  const std::vector<SlurmNode>& nodes,
                                  const std::vector<std::pair<std::string, std::string>>& switches,
                                  bool enforces);
// Only those of the reservation, if there is one; an error if that is not there. `words`: as
// `scontrol show reservation` answered.
Result<std::vector<SlurmNode>> within_reservation(const SlurmSettings& settings,
                                                  std::vector<SlurmNode> nodes,
                                                  const SlurmWords& words);
bool enforces_limits(const SlurmWords& config);  // Whether Slurm holds jobs to what they have.

// Asks Slurm, and waits for it.
Result<std::vector<ServerFacts>> find_slurm_servers(const SlurmSettings& settings);

// Whether jobs can run as whoever submitted them: only root may ask for that.
bool may_run_as_others();

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
  std::vector<ServerNews> servers() override;
  std::optional<std::vector<ServerFacts>> changed_servers() override;
  std::vector<std::string> troubles() override { return std::exchange(troubles_, {}); }

 private:
  static constexpr int kMostFailures = 2;  // Of answers, before servers are taken to be closed.
  enum class Command : std::uint8_t {
    kQueue,
    kNodes,
    kTopology,
    kConfig,
    kReservation,
    kPartition,
    kSubmit,
    kRelease,
    kCancel
  };
  struct Running {
    Command what = Command::kQueue;
    std::int64_t since = 0;
    std::string lease;  // Of kSubmit, ...
    int group = 0;      // ... as this.
    std::vector<SlurmId> ids;
  };

  explicit SlurmExecutor(SlurmSettings settings) : settings_(std::move(settings)) {}

  // slurm.cc
  Refusal make_lease(std::span<const LaunchSpec> parts, SlurmLease& lease) const;
  struct Records {        // Of a lease that an earlier daemon ordered.
    bool unsure = false;  // Some cannot be read just now.
    bool some = false;
    bool some_started = false;
  };
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
  void submit(const std::string& name, SlurmLease& lease, int group);
  void no_answer(std::string why);
  void submitted(const Running& ran, const CommandResult& result);
  void refused(SlurmLease& lease, SlurmGroup& group, const std::string& words);
  void release(std::int64_t now);
  void cancel(std::int64_t now);
  void run(Command what, std::vector<std::string> argv) {
    run(what, std::move(argv), Running(), "");
  }
  void run(Command what, std::vector<std::string> argv, Running with, std::string input);
  bool under_way(Command what) const;
  std::string script_of(const SlurmLease& lease, const SlurmGroup& group) const;
  void set_timer(std::int64_t now);
  std::string trouble() const;
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
  static const SlurmJob* live_row(const std::vector<SlurmJob>& rows);
  bool is_unasked(const SlurmLease& lease, SlurmPart& part, const ExitReport& report);
  void heard_end(const SlurmLease& lease, SlurmPart& part, ExitReport report);
  void grow(SlurmLease& lease, std::int64_t now);
  void bury(std::int64_t now);
  void cancel_strays(std::int64_t now);

  // slurm_servers.cc
  void take_nodes(const std::vector<SlurmNode>& nodes);
  void judge_strangers();
  void tell_servers();
  std::map<std::string, std::vector<SlurmId>> ours_by_node() const;
  const SlurmNode* find_node(const std::string& name) const;  // Null: not ours to see.
  bool answers(const std::string& node) const;                // As far as we know.
  bool reaches(const std::string& node) const;  // Slurm does, and ends what is to end there.

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
  std::int64_t next_queue_ = 0;
  std::int64_t last_queue_ = 0;
  std::int64_t next_topology_ = 0;
  std::int64_t next_look_ = 0;
  std::int64_t next_release_ = 0;
  std::map<SlurmId, std::int64_t> cancelled_;  // And when, by us.
  std::set<SlurmId> to_cancel_;

  std::string contact_trouble_;  // Slurm does not answer, ...
  int contact_failures_ = 0;     // ... so often by now.
  std::string site_trouble_;     // It does, and the partition is no good.
  std::string refused_;          // It lets us submit nothing.
  std::string told_trouble_;

  std::vector<SlurmNode> nodes_;  // Of the partition, with GPUs.
  std::vector<std::pair<std::string, std::string>> switches_;
  SlurmWords reservation_;
  bool enforces_ = false;
  bool seen_config_ = false;  // And the switches, and the reservation.
  std::map<std::string, std::string> addresses_;
  std::vector<ServerFacts> facts_;  // As last told.
  std::optional<std::vector<ServerFacts>> changed_;
  std::map<std::string, ServerNews> news_;  // As last told.
  std::vector<ServerNews> fresh_news_;
  std::map<std::string, ServerNews> taken_;  // What others hold.
  struct Before {  // Of the last sinfo: who was where according to the squeue before it.
    std::map<std::string, std::vector<SlurmId>> ours;
    std::set<std::string> with_strangers;
    bool fresh = false;
  };
  Before before_;
};

}  // namespace muster
