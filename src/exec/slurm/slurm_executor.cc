#include "exec/slurm/slurm_executor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/os/account.h"
#include "base/os/processes.h"
#include "base/text/text.h"
#include "exec/lease/lease_directory.h"

namespace muster {

namespace {

std::string lease_of(const std::string& part) {
  const std::size_t rank = part.find(".n");
  return part.substr(0, rank);
}

}  // namespace

Result<std::unique_ptr<SlurmExecutor>> SlurmExecutor::open(SlurmSettings settings,
                                                           std::vector<NodeDescription> nodes,
                                                           std::string trouble) {
  if (::mkdir(settings.leases.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_error(settings.leases, errno);
  }
  std::unique_ptr<SlurmExecutor> executor(new SlurmExecutor(std::move(settings)));
  executor->as_submitter_ = may_run_as_others();
  const Result<Account> own = find_account(::geteuid());
  executor->own_user_ = own.ok() ? own.value().name : std::to_string(::geteuid());
  if (executor->as_submitter_) {
    // The user of a job must be able to open its record, but not to list others.
    const std::string& leases = executor->settings_.leases;
    const std::string home = std::filesystem::path(leases).parent_path().string();
    for (const std::string& each : {leases, home}) {
      if (::chmod(each.c_str(), 0711) != 0) return system_error(each, errno);
    }
  }
  executor->commands_.emplace();
  if (const auto sbatch = executor->commands_->find("sbatch")) {
    executor->path_ = std::filesystem::path(*sbatch).parent_path().string();
  }
  executor->nodes_.set_known(std::move(nodes));
  if (!trouble.empty()) {  // No job must start before Slurm is reachable.
    executor->contact_.failed_before(std::move(trouble));
    executor->tell_trouble();
  }
  executor->epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  executor->timer_ = Fd(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!executor->epoll_.open() || !executor->timer_.open()) return system_error("epoll", errno);
  for (const int fd : {executor->timer_.get(), executor->commands_->fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(executor->epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }
  executor->set_timer(boot_micros());
  return executor;
}

std::optional<std::vector<NodeDescription>> SlurmExecutor::changed_nodes() {
  return nodes_.take_changed();
}

std::string SlurmExecutor::directory_of(const SlurmPart& part) const {
  return record_path(settings_.leases, part.name);
}

SlurmPart* SlurmExecutor::find(const std::string& part, SlurmLease** lease) {
  const auto found = leases_.find(lease_of(part));
  if (found == leases_.end()) return nullptr;
  if (lease != nullptr) *lease = &found->second;
  for (SlurmPart& each : found->second.parts) {
    if (each.name == part) return &each;
  }
  return nullptr;
}

void SlurmExecutor::tell(ExecEvent::Kind kind, const SlurmPart& part, std::string why) {
  ExecEvent event;
  event.kind = kind;
  event.lease = part.name;
  event.job = part.spec.job;
  event.epoch = part.spec.epoch;
  event.node_rank = part.spec.node_rank;
  event.why = std::move(why);
  events_.push_back(std::move(event));
}

MaybeError SlurmExecutor::make_lease(std::span<const LaunchSpec> parts, SlurmLease& lease) const {
  lease.name = slurm_name(parts.front());
  for (const LaunchSpec& spec : parts) {
    SlurmPart part;
    part.spec = spec;
    part.name = lease_name(spec);
    part.node = slurm_node(spec);
    if (part.node.empty())
      return Error{part.name + ": MUSTER_NODE is not set", ErrorCode::kInvalid};
    lease.parts.push_back(std::move(part));
  }
  lease.groups = groups_of(lease.parts);
  return std::nullopt;
}

// Called before anything is submitted to Slurm.
MaybeError SlurmExecutor::write_records(const SlurmLease& lease, const Account* owner_to_be) const {
  for (const SlurmPart& part : lease.parts) {
    const Result<Fd> directory = make_record(settings_.leases, part.spec);
    if (!directory.ok()) return directory.error();
    const int fd = directory.value().get();
    struct stat owner {};
    if (::fstat(fd, &owner) != 0) return system_error(part.name, errno);
    // Change the owner last. After that the content is not trusted, because the owner can change
    // it.
    if (owner_to_be == nullptr || owner.st_uid == owner_to_be->user) continue;
    if (::fchownat(fd, "spec.json", owner_to_be->user, owner_to_be->group, AT_SYMLINK_NOFOLLOW) !=
            0 ||
        ::fchown(fd, owner_to_be->user, owner_to_be->group) != 0) {
      return system_error(part.name, errno);
    }
  }
  return std::nullopt;
}

std::vector<MaybeError> SlurmExecutor::start(std::span<const LaunchSpec> parts) {
  const auto all = [&](MaybeError refusal) {
    return std::vector<MaybeError>(parts.size(), std::move(refusal));
  };
  if (leases_.contains(slurm_name(parts.front()))) return all(std::nullopt);
  std::vector<LaunchSpec> specs(parts.begin(), parts.end());
  const auto first = nodes_.addresses().find(slurm_node(specs.front()));
  for (LaunchSpec& spec : specs) {
    if (spec.remote) continue;  // Adopted from an earlier daemon.
    spec.remote = true;
    spec.cgroup_parent.clear();  // Slurm sets the limits on the nodes.
    spec.master_addr =
        first == nodes_.addresses().end() ? slurm_node(specs.front()) : first->second;
  }
  SlurmLease lease;
  if (MaybeError refusal = make_lease(specs, lease)) return all(std::move(refusal));
  const std::string& user = specs.front().user;
  const bool as_user = as_submitter_ && !user.empty();
  const Result<Account> account = as_user ? find_account(user) : Result<Account>(Account());
  const Account* owner = as_user && account.ok() ? &account.value() : nullptr;
  if (MaybeError refusal = write_records(lease, owner)) return all(std::move(refusal));
  const std::string name = lease.name;
  SlurmLease& kept = leases_.emplace(name, std::move(lease)).first->second;
  next_look_ = 0;
  for (SlurmPart& part : kept.parts) {
    if (!account.ok()) {
      end_unstarted(kept, part, EndCause::kCouldNotStart, account.error().message, ENOENT);
    } else if (!nodes_.addresses().empty() && !nodes_.addresses().contains(part.node)) {
      // The node was removed from Slurm or never existed there.
      end_unstarted(kept, part, EndCause::kStopped, part.node + " is not a node of Slurm");
    }
  }
  return all(std::nullopt);
}

MaybeError SlurmExecutor::write_remote_order(SlurmPart& part) const {
  const Result<Fd> directory = open_directory(directory_of(part));
  if (!directory.ok()) return directory.error();
  part.order.serial = std::max(part.order.serial + 1, now_on_both_clocks().wall_us);
  // The shim runs as the owner of the directory.
  return write_for_owner(directory.value(), "wish.json", remote_order_json(part.order));
}

// Ends a part whose shim has not started, and makes sure that it cannot start.
MaybeError SlurmExecutor::end_unstarted(const SlurmLease& lease, SlurmPart& part, EndCause cause,
                                        std::string words, int error_number) {
  const Result<Fd> directory = open_directory(directory_of(part));
  if (!directory.ok()) return directory.error();
  part.order.kill = true;
  if (const MaybeError refusal = write_remote_order(part)) return refusal;
  ExitReport report;
  report.token = part.spec.token;
  report.cause = cause;
  report.error_number = error_number;
  report.words = std::move(words);
  report.start = report.end = now_on_both_clocks();
  if (const MaybeError refusal = close_unstarted(directory.value(), report)) return refusal;
  heard_end(lease, part, report);
  return std::nullopt;
}

MaybeError SlurmExecutor::stop(const std::string& name, std::optional<std::int64_t> grace_ms) {
  SlurmLease* lease = nullptr;
  SlurmPart* part = find(name, &lease);
  if (part == nullptr) return Error{name + ": not in Slurm", ErrorCode::kNotFound};
  look_at(*lease, *part);
  if (part->over) return std::nullopt;
  if (!part->started) {
    return end_unstarted(*lease, *part, EndCause::kStopped, "stopped before it started");
  }
  part->order.stop_ms = grace_ms.value_or(part->spec.grace_ms);
  return write_remote_order(*part);
}

MaybeError SlurmExecutor::kill(const std::string& name) {
  SlurmLease* lease = nullptr;
  SlurmPart* part = find(name, &lease);
  if (part == nullptr) return Error{name + ": not in Slurm", ErrorCode::kNotFound};
  part->order.kill = true;
  // Use the id of the last squeue, because Slurm may have given our old id to an external job.
  const SlurmJob* row = row_of(*lease, part->group);
  if (row != nullptr && !row->over()) to_cancel_.insert(row->id);
  return write_remote_order(*part);
}

Result<std::string> SlurmExecutor::resize(const std::string& name, Limits limits) {
  SlurmLease* lease = nullptr;
  SlurmPart* part = find(name, &lease);
  if (part == nullptr) return Error{name + ": not in Slurm", ErrorCode::kNotFound};
  const SlurmGroup& group = lease->groups[static_cast<std::size_t>(part->group)];
  const std::int64_t cpus = group.cpus * 1000 + 999;  // Slurm allocates whole CPUs.
  const bool more = limits.cpu_milli > cpus || limits.mem_mib > group.mem_mib;
  part->order.limits = Limits{.cpu_milli = std::min(limits.cpu_milli, cpus),
                              .mem_mib = std::min(limits.mem_mib, group.mem_mib)};
  if (const MaybeError refusal = write_remote_order(*part)) return *refusal;
  if (!more) {
    if (lease->wants_more && part->spec.node_rank == 0) lease->wants_more.reset();
    return std::string();
  }
  const bool first = !lease->wants_more.has_value();
  lease->wants_more = limits;
  if (!first) return std::string();
  return fmt::format(
      "keeps {} CPU{} and {:.4g} GiB, because Slurm cannot enlarge a running job; a restart with "
      "{:g} CPUs and {:.4g} GiB is possible later",
      group.cpus, group.cpus == 1 ? "" : "s", static_cast<double>(group.mem_mib) / 1024,
      static_cast<double>(limits.cpu_milli) / 1000, static_cast<double>(limits.mem_mib) / 1024);
}

bool SlurmExecutor::forget(const std::string& part) {
  return find(part) == nullptr && forget_record(settings_.leases, part, true);
}

// Jobs of leases without a record are found by cancel_strays() after the next squeue.
std::vector<std::string> SlurmExecutor::end_unknown_leases(std::span<const Name> known) {
  known_.emplace();
  for (const auto& [job, epoch] : known) {
    known_->insert("j" + std::to_string(job) + ".e" + std::to_string(epoch));
  }
  std::vector<std::string> said;
  const Result<std::vector<std::string>> unfinished = unfinished_records(settings_.leases);
  if (!unfinished.ok()) return {unfinished.error().message};
  for (const std::string& name : unfinished.value()) {
    if (known_->contains(lease_of(name))) continue;
    SlurmPart part;
    part.name = name;
    part.order.kill = true;
    if (::access((directory_of(part) + "/wish.json").c_str(), F_OK) != 0) {
      said.push_back(part.name + ": unknown lease; ending it");
    }
    if (const MaybeError refusal = write_remote_order(part)) said.push_back(refusal->message);
  }
  return said;
}

std::vector<std::string> SlurmExecutor::command_on(const std::string& node,
                                                   std::vector<std::string> command) const {
  std::vector<std::string> argv = {"srun",       "--nodelist=" + node, "--nodes=1", "--ntasks=1",
                                   "--mem=100M", "--time=2",           "--quiet"};
  if (!settings_.partition.empty()) argv.push_back("--partition=" + settings_.partition);
  if (!settings_.reservation.empty()) argv.push_back("--reservation=" + settings_.reservation);
  if (!settings_.account.empty()) argv.push_back("--account=" + settings_.account);
  if (!settings_.qos.empty()) argv.push_back("--qos=" + settings_.qos);
  argv.emplace_back("--");
  for (std::string& word : command) argv.push_back(std::move(word));
  return argv;
}

}  // namespace muster
