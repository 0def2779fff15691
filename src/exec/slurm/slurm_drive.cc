// Commands of the Slurm executor: starts them, processes their results and schedules the next.

#include <fmt/format.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/os/processes.h"
#include "base/text/text.h"
#include "exec/slurm/slurm_executor.h"

namespace muster {

namespace {

constexpr std::int64_t kOneSecond = 1'000'000;
constexpr std::int64_t kLookSoon = 100'000;   // Interval while a lease is starting or stopping.
constexpr std::int64_t kLookLater = 500'000;  // Interval while a lease is running.
constexpr std::size_t kMaxSubmits = 4;        // At the same time.
constexpr std::size_t kMaxIds = 200;          // In one command.
constexpr std::int64_t kTopologyEvery = 60 * kOneSecond;
constexpr std::int64_t kRefusedPatience = 60 * kOneSecond;
constexpr std::int64_t kRefusedAgain = 5 * kOneSecond;

// Whether Slurm did not respond. It may have executed the command.
bool is_silence(const CommandResult& result) {
  if (result.how != CommandResult::How::kEnded) return true;
  for (const char* words :
       {"authentication", "munge", "Unable to contact", "timed out", "Zero Bytes",
        "connect failure", "Connection refused", "Unexpected message", "Transport endpoint",
        "temporarily unable", "not responding", "communication"}) {
    if (result.err.find(words) != std::string::npos) return true;
  }
  return false;
}

// Whether Slurm's error concerns only this job or, if jobs run as their users, only its user.
bool is_its_own(std::string_view words, bool by_user) {
  for (const char* own :
       {"node configuration is not available", "Memory required", "More processors", "time limit",
        "Node count specification", "job violates"}) {
    if (words.find(own) != std::string_view::npos) return true;
  }
  if (!by_user) return false;
  for (const char* users : {"nvalid account", "nvalid qos", "nvalid user", "nvalid uid",
                            "Unable to find", "ser's group not permitted", "user id"}) {
    if (words.find(users) != std::string_view::npos) return true;
  }
  return false;
}

// The script gets the path of Slurm's programs and nothing else from our environment.
std::string script_of(const SlurmSettings& settings, const std::string& path,
                      const SlurmLease& lease, const SlurmGroup& group) {
  const auto directory_of = [&](std::size_t part) {
    return settings.leases + "/" + lease.parts[part].name;
  };
  std::string script = "#!/bin/sh\n";
  script += fmt::format("PATH={}:/usr/local/bin:/usr/bin:/bin; export PATH\n", shell_word(path));
  if (const char* conf = std::getenv("SLURM_CONF")) {
    script += fmt::format("SLURM_CONF={}; export SLURM_CONF\n", shell_word(conf));
  }
  if (group.nodes.size() == 1) {  // Without srun, which costs 0.1 s and two processes.
    return script + fmt::format("exec {} {}\n", shell_word(settings.shim),
                                shell_word(directory_of(group.parts.front())));
  }
  script += fmt::format(
      "exec srun --quiet --overlap --nodes={0} --ntasks={0} --ntasks-per-node=1 "
      "--cpus-per-task={1} --mem=0 --kill-on-bad-exit=1 --wait=0 {2} --by-node",
      group.nodes.size(), group.cpus, shell_word(settings.shim));
  for (std::size_t i = 0; i < group.parts.size(); ++i) {
    script += " " + shell_word(group.nodes[i] + "=" + directory_of(group.parts[i]));
  }
  return script + "\n";
}

}  // namespace

std::vector<ExecEvent> SlurmExecutor::poll() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(timer_.get(), &count, sizeof count);
  for (auto& [ticket, result] : commands_->poll()) {
    const auto found = running_.find(ticket);
    if (found == running_.end()) continue;
    const Running ran = std::move(found->second);
    running_.erase(found);
    take(ran, result);
  }
  const std::int64_t now = boot_micros();
  if (now >= next_look_) look_at_records(now);
  bury(now);
  drive(now);
  tell_trouble();
  set_timer(boot_micros());
  return std::exchange(events_, {});
}

void SlurmExecutor::run(Command what, std::vector<std::string> argv, Running with,
                        std::string input) {
  with.what = what;
  with.since = boot_micros();
  running_[commands_->start(std::move(argv), settings_.timeout, std::move(input))] =
      std::move(with);
}

bool SlurmExecutor::under_way(Command what) const {
  return std::any_of(running_.begin(), running_.end(),
                     [&](const auto& each) { return each.second.what == what; });
}

void SlurmExecutor::drive(std::int64_t now) {
  if (now >= next_queue_ && !under_way(Command::kQueue) && !under_way(Command::kNodes)) {
    last_queue_ = now;
    next_queue_ = now + settings_.every.us();
    run(Command::kQueue, squeue_argv(""));
  }
  if (now >= next_topology_ && !under_way(Command::kTopology) && !under_way(Command::kConfig) &&
      !under_way(Command::kReservation) && !under_way(Command::kPartition)) {
    // Query an unusable site more often.
    const std::int64_t soon = nodes_.trouble().empty() ? kTopologyEvery : 5 * kOneSecond;
    next_topology_ = now + (seen_config_ ? soon : kOneSecond);
    if (settings_.partition.empty()) {
      run(Command::kPartition, partition_argv(""));
    } else {
      run(Command::kTopology, topology_argv());
    }
  }
  if (std::none_of(leases_.begin(), leases_.end(), [](const auto& each) {
        return std::any_of(each.second.groups.begin(), each.second.groups.end(),
                           [](const SlurmGroup& group) { return group.refused_since != 0; });
      })) {
    contact_.accepts();  // No rejected job is left, so try again with the next.
  }
  std::size_t submits = 0;
  for (const auto& [ticket, each] : running_) submits += each.what == Command::kSubmit ? 1 : 0;
  for (auto& [name, lease] : leases_) {
    for (std::size_t i = 0; i < lease.groups.size() && submits < kMaxSubmits; ++i) {
      const SlurmGroup& group = lease.groups[i];
      if (group.step != SlurmGroup::Step::kNew || group.again > now) continue;
      submit(name, lease, static_cast<int>(i));
      ++submits;
    }
    if (submits == kMaxSubmits) break;
  }
  release(now);
  cancel(now);
}

void SlurmExecutor::submit(const std::string& name, SlurmLease& lease, int number) {
  SlurmGroup& group = lease.groups[static_cast<std::size_t>(number)];
  const SlurmPart& first = lease.parts[group.parts.front()];
  SlurmSubmit job;
  job.name = first.spec.name.empty() ? name : name + "/" + first.spec.name;
  job.comment = tag_of(settings_.instance, name, number);
  job.partition = settings_.partition;
  job.reservation = settings_.reservation;
  job.account = settings_.account;
  job.qos = settings_.qos;
  if (as_submitter_) job.user = first.spec.user;
  job.nodes = group.nodes;
  job.cpus = group.cpus;
  job.mem_mib = group.mem_mib;
  job.gpus = group.gpus;
  if (first.spec.time_limit_ms > 0) {  // For Slurm's planning only; the shim enforces the limit.
    const std::int64_t ms = first.spec.time_limit_ms + first.spec.grace_ms;
    job.time = Duration::micros(ms * 1000) + Duration::seconds(300);
  }
  job.output = directory_of(first) + "/launch.out";
  job.hold = true;
  group.go(SlurmGroup::Step::kSubmitting, boot_micros());
  Running with;
  with.lease = name;
  with.group = number;
  run(Command::kSubmit, submit_argv(job), std::move(with),
      script_of(settings_, path_, lease, group));
}

void SlurmExecutor::take(const Running& ran, const CommandResult& result) {
  switch (ran.what) {
    case Command::kQueue:
      return take_queue(ran, result);
    case Command::kNodes:
      return take_nodes(result);
    case Command::kTopology:
      if (result.ok()) nodes_.set_switches(read_topology(result.out));
      return run(Command::kConfig, config_argv());
    case Command::kConfig:
      if (!result.ok()) return;
      nodes_.set_enforces(enforces_limits(read_config(result.out)));
      if (settings_.reservation.empty()) return seen_config();
      return run(Command::kReservation, reservation_argv(settings_.reservation));
    case Command::kReservation:  // A missing reservation is an error without output.
      if (result.ok() || !is_silence(result)) {
        nodes_.set_reservation(result.ok() ? read_reservation(result.out) : SlurmWords());
      } else if (!seen_config_) {
        return;
      }
      return seen_config();
    case Command::kPartition:  // The default partition.
      if (!result.ok()) return;
      settings_.partition = word_of(read_partition(result.out), "PartitionName");
      return run(Command::kTopology, topology_argv());
    case Command::kSubmit:
      return submitted(ran, result);
    case Command::kRelease:
      return released(ran, result.ok());
    case Command::kCancel:
      return;  // cancel_strays() repeats it after the next squeue if needed.
  }
}

void SlurmExecutor::take_queue(const Running& ran, const CommandResult& result) {
  if (!result.ok()) return contact_.failed("Slurm does not answer: " + result.words);
  const Result<std::vector<SlurmJob>> jobs = read_squeue(result.out);
  if (!jobs.ok()) return contact_.failed(jobs.error().message);
  reconcile(jobs.value(), ran.since);
  run(Command::kNodes, sinfo_argv(settings_.partition));
}

void SlurmExecutor::take_nodes(const CommandResult& result) {
  if (!result.ok()) return contact_.failed("Slurm does not answer: " + result.words);
  const Result<std::vector<SlurmNode>> nodes = read_sinfo(result.out);
  if (!nodes.ok()) return contact_.failed(nodes.error().message);
  if (!seen_config_) return;  // The nodes cannot be evaluated without the configuration.
  contact_.answered();
  nodes_.take_nodes(settings_, nodes.value(), ours_by_node(), with_external_jobs_);
  nodes_.update(settings_, trouble());
}

void SlurmExecutor::seen_config() {
  if (!std::exchange(seen_config_, true)) next_queue_ = 0;
}

// The next squeue shows the result. Jobs that are still held are released again.
void SlurmExecutor::released(const Running& ran, bool ok) {
  const std::int64_t now = boot_micros();
  if (!ok) next_release_ = now + kOneSecond;
  for (auto& [name, lease] : leases_) {
    for (SlurmGroup& group : lease.groups) {
      const bool asked = std::find(ran.ids.begin(), ran.ids.end(), group.id) != ran.ids.end();
      if (asked && group.step == SlurmGroup::Step::kHeld && ok) {
        group.go(SlurmGroup::Step::kReleased, now);
      }
    }
  }
  next_look_ = 0;
}

void SlurmExecutor::submitted(const Running& ran, const CommandResult& result) {
  const std::int64_t now = boot_micros();
  const auto found = leases_.find(ran.lease);
  const Result<SlurmId> id =
      result.ok() ? read_submitted(result.out) : Error{result.words, ErrorCode::kUnavailable};
  // If the controller is killed, Slurm can forget a job that it has just acknowledged and reuse its
  // id. The id is therefore not used before squeue shows that the job is ours.
  if (!under_way(Command::kSubmit)) {
    next_queue_ = std::min(next_queue_, last_queue_ + settings_.every.us() / 4);
  }
  if (found == leases_.end()) return;  // The lease has ended; cancel_strays() cancels the job.
  SlurmLease& lease = found->second;
  SlurmGroup& group = lease.groups[static_cast<std::size_t>(ran.group)];
  if (id.ok()) {
    group.id = id.value();
    group.refused_since = 0;
    contact_.accepts();
    return group.go(SlurmGroup::Step::kUnsure, now);
  }
  if (result.ok() || is_silence(result)) return group.go(SlurmGroup::Step::kUnsure, now);
  refused(lease, group, result.words);
}

// Slurm rejected the job because of the job, its user, or the whole site.
void SlurmExecutor::refused(SlurmLease& lease, SlurmGroup& group, const std::string& words) {
  const std::int64_t now = boot_micros();
  group.go(SlurmGroup::Step::kNew, now);
  group.again = now + kRefusedAgain;
  if (group.refused_since == 0) group.refused_since = now;
  const std::string said = "Slurm rejects the job: " + words;
  if (std::exchange(group.said, said) != said) {
    tell(ExecEvent::Kind::kNote, lease.parts[group.parts.front()], said);
    troubles_.push_back(lease.name + ": " + said);
  }
  if (!is_its_own(words, as_submitter_)) {
    contact_.refuses("Slurm rejects every job: " + words);
  } else if (now - group.refused_since > kRefusedPatience) {
    for (SlurmPart& part : lease.parts) {
      if (!part.over) end_unstarted(lease, part, EndCause::kCouldNotStart, said, ENOENT);
    }
  }
}

// Releases leases whose groups are all submitted. Repeats it for jobs that are still held.
void SlurmExecutor::release(std::int64_t now) {
  if (under_way(Command::kRelease) || now < next_release_) return;
  std::vector<SlurmId> ids;
  for (const auto& [name, lease] : leases_) {
    const bool whole =
        std::all_of(lease.groups.begin(), lease.groups.end(), [](const SlurmGroup& group) {
          return group.step == SlurmGroup::Step::kHeld || group.step == SlurmGroup::Step::kReleased;
        });
    if (!whole) continue;
    for (const SlurmGroup& group : lease.groups) {
      if (group.step == SlurmGroup::Step::kHeld && ids.size() < kMaxIds) ids.push_back(group.id);
    }
  }
  if (ids.empty()) return;
  Running with;
  with.ids = ids;
  run(Command::kRelease, release_argv(ids), std::move(with), "");
}

void SlurmExecutor::cancel(std::int64_t now) {
  if (to_cancel_.empty() || under_way(Command::kCancel)) return;
  std::vector<SlurmId> ids;
  for (const SlurmId id : to_cancel_) {
    if (ids.size() == kMaxIds) break;
    ids.push_back(id);
    cancelled_[id] = now;
  }
  for (const SlurmId id : ids) to_cancel_.erase(id);
  Running with;
  with.ids = ids;
  run(Command::kCancel, cancel_argv(ids), std::move(with), "");
}

void SlurmExecutor::set_timer(std::int64_t now) {
  std::int64_t next = next_topology_;
  if (!under_way(Command::kQueue) && !under_way(Command::kNodes))
    next = std::min(next, next_queue_);
  if (!leases_.empty()) next = std::min(next, next_look_);
  for (const auto& [name, lease] : leases_) {
    for (const SlurmGroup& group : lease.groups) {
      if (group.step == SlurmGroup::Step::kNew && group.again > now) {
        next = std::min(next, group.again);
      }
      if (group.step == SlurmGroup::Step::kHeld && next_release_ > now) {
        next = std::min(next, next_release_);
      }
    }
  }
  if (!events_.empty()) next = now;
  const std::int64_t wait = std::max<std::int64_t>(next - now, 1'000);
  itimerspec when{};
  when.it_value = {wait / kOneSecond, wait % kOneSecond * 1000};
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

void SlurmExecutor::look_at_records(std::int64_t now) {
  bool soon = false;
  for (auto& [name, lease] : leases_) {
    for (SlurmPart& part : lease.parts) {
      if (part.over) continue;
      look_at(lease, part);
      const SlurmGroup& group = lease.groups[static_cast<std::size_t>(part.group)];
      const bool starting = !part.started && group.step == SlurmGroup::Step::kReleased;
      soon = soon || starting || part.order.ends();
    }
    grow(lease, now);
  }
  next_look_ = now + (soon ? kLookSoon : kLookLater);
}

void SlurmExecutor::tell_trouble() {
  const std::string now = trouble();
  if (now == told_trouble_) return;
  troubles_.push_back(now.empty() ? "Slurm is usable again" : now);
  told_trouble_ = now;
  nodes_.update(settings_, now);
}

}  // namespace muster
