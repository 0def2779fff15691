#include "exec/shim/own_processes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/os/processes.h"

namespace muster {
namespace {

constexpr std::int64_t kKillAgainUs = 10'000;
constexpr const char* kWithoutGroup = "; not enforced: process limit; GPU device filter";

// RLIMIT_DATA of a job without a control group, well above its memory limit. It is only a backstop:
// OwnProcesses enforces the limit by monitoring the process tree.
std::int64_t data_limit_bytes(Limits limits) {
  return ((limits.mem_mib + std::max<std::int64_t>(limits.mem_mib, 4096)) << 20);
}

}  // namespace

Result<std::unique_ptr<JobProcesses>> OwnProcesses::make(const LaunchSpec& spec,
                                                         const std::string& progress) {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return system_error("subreaper", errno);
  std::unique_ptr<OwnProcesses> own(new OwnProcesses(spec, progress));
  sigset_t mask;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &mask, nullptr);
  own->ended_ = Fd(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!own->ended_.open()) return system_error("signalfd", errno);
  own->limit();
  return std::unique_ptr<JobProcesses>(std::move(own));
}

void OwnProcesses::limit() {
  auto group = ControlGroup::create(spec_.cgroup_parent, mark_of(spec_), limits_);
  if (group.ok()) {
    group_ = std::move(group).value();
    reduced_why_ = restrict_job();
  } else {
    reduced_why_ = spec_.remote
                       ? "limits are enforced by the shim and, if configured, by the cluster"
                       : group.error().message + kWithoutGroup;
    throttle_.emplace(limits_.cpu_milli);
  }
}

// Returns which restrictions the kernel does not enforce.
std::string OwnProcesses::restrict_job() {
  Restrictions wanted{max_processes(spec_.gpus.size()), {}};
  if (spec_.gpu_filter) wanted.devices = filter_gpus(spec_.gpu_nodes);
  std::string gaps = group_->restrict_to(wanted);
  // A CUDA process behind a filter counts only its own devices, so that indices mean others.
  if (!group_->filters_devices()) spec_.gpu_uuids.clear();
  return gaps;
}

OwnProcesses::~OwnProcesses() {
  if (group_) group_->remove();
}

void OwnProcesses::start(std::span<const int> outputs) {
  started_ = true;
  const auto failed = [&](int rank, int error_number, std::string words) {
    ProcessEvent event;
    event.kind = ProcessEvent::Kind::kFailed;
    event.end.rank = rank;
    event.error_number = error_number;
    event.words = std::move(words);
    events_.push_back(std::move(event));
  };
  const Result<std::vector<Fd>> doors = group_ ? group_->doors() : std::vector<Fd>();
  if (!doors.ok()) return failed(spec_.first_rank, errno, doors.error().message);
  for (int i = 0; i < local_ranks(spec_); ++i) {
    const int output = outputs[static_cast<std::size_t>(i)];
    const Launched launched =
        ranks_.start(spec_, i, progress_, output, doors.value(), data_limit());
    if (launched.pid == 0) {
      failed(spec_.first_rank + i, launched.failure.error_number, launched.failure.words);
      break;
    }
    ProcessEvent ran;
    ran.kind = ProcessEvent::Kind::kRan;
    ran.end.rank = spec_.first_rank + i;
    events_.push_back(std::move(ran));
  }
  if (throttle_) throttle_at_ = boot_micros();
}

// A remote lease needs no RLIMIT_DATA, because the cluster can enforce limits too.
std::int64_t OwnProcesses::data_limit() const {
  return group_ || spec_.remote ? 0 : data_limit_bytes(limits_);
}

void OwnProcesses::kill_all() const {
  if (group_) group_->kill_all();
  ranks_.kill_all();
}

void OwnProcesses::kill() {
  killing_ = true;
  throttle_at_ = kNever;
  kill_all();
  kill_at_ = boot_micros() + kKillAgainUs;
}

MaybeError OwnProcesses::resize(Limits limits) {
  if (group_) {
    if (auto refusal = group_->resize(limits)) return refusal;
    limits_ = limits;
    return std::nullopt;
  }
  const std::vector<pid_t> tree = ranks_.all();
  const std::int64_t held = tree_pss_bytes(tree);
  if (held > limits.mem_mib << 20) {
    return Error{"the job uses " + std::to_string(held >> 20) + " MiB", ErrorCode::kConflict};
  }
  limits_ = limits;
  throttle_->set_rate(limits.cpu_milli);
  if (data_limit() == 0) return std::nullopt;
  const rlimit data{static_cast<rlim_t>(data_limit()), RLIM_INFINITY};
  for (const pid_t pid : tree) ::prlimit(pid, RLIMIT_DATA, &data, nullptr);
  return std::nullopt;
}

std::vector<ProcessEvent> OwnProcesses::take(std::int64_t now_us) {
  signalfd_siginfo info{};
  while (::read(ended_.get(), &info, sizeof info) == sizeof info) {
  }
  reap();
  // Before that, the end of a rank wakes the caller.
  if (killing_ && ranks_.running() == 0 && now_us >= kill_at_) {
    kill_all();
    kill_at_ = now_us + kKillAgainUs;
    reap();
  }
  if (now_us >= throttle_at_) hold_to_limits(now_us);
  if (started_ && !over_ && all_gone()) {
    over_ = true;
    kill_at_ = throttle_at_ = kNever;
    events_.emplace_back();
  }
  return std::exchange(events_, {});
}

void OwnProcesses::reap() {
  for (const RankEnd& end : ranks_.reap()) {
    const bool failed = end.code != 0 || end.signal != 0;
    if (failed && group_ && group_->oom_kills() > 0) {
      events_.emplace_back().kind = ProcessEvent::Kind::kOutOfMemory;
    }
    ProcessEvent& event = events_.emplace_back();
    event.kind = ProcessEvent::Kind::kEnded;
    event.end = end;
    const std::int64_t forks = failed && group_ ? group_->refused_forks() : 0;
    if (forks > 0) event.words = "its process limit refused " + std::to_string(forks) + " forks";
  }
}

bool OwnProcesses::all_gone() const {
  return ranks_.running() == 0 && !ranks_.anything_left() && (!group_ || group_->empty());
}

std::int64_t OwnProcesses::deadline_us() const {
  const bool repeats = killing_ && ranks_.running() == 0;
  return std::min(repeats ? kill_at_ : kNever, throttle_at_);
}

void OwnProcesses::hold_to_limits(std::int64_t now_us) {
  const std::vector<pid_t> tree = ranks_.all();
  const TreeUse use = tree_use(tree);
  const std::int64_t most = limits_.mem_mib << 20;
  std::int64_t held = use.rss_bytes;
  if (held > most) held = tree_pss_bytes(tree);  // Slow, but counts shared pages once.
  mem_peak_bytes_ = std::max(mem_peak_bytes_, held);
  if (held > most) {
    ProcessEvent& event = events_.emplace_back();
    event.kind = ProcessEvent::Kind::kOutOfMemory;
    event.used_bytes = held;
  }
  const Throttle::Step step = throttle_->step(now_us, ranks_.cpu_s(use));
  pause(step.run, tree);
  throttle_at_ = step.next_us;
}

void OwnProcesses::pause(bool run, const std::vector<pid_t>& tree) {
  if (run == !paused_) return;
  ranks_.signal_all_groups(tree, run ? SIGCONT : SIGSTOP);
  paused_ = !run;
}

ProcessUse OwnProcesses::use() const {
  const TreeUse use = tree_use(ranks_.all());
  return {ranks_.cpu_s(use), group_ ? group_->memory_bytes() : use.rss_bytes};
}

void OwnProcesses::account(ExitReport& report) const {
  const std::int64_t group_peak = group_ ? group_->memory_peak_bytes() : 0;
  report.mem_peak_mib = std::max(mem_peak_bytes_, group_peak) >> 20;
  ranks_.account(report);
}

}  // namespace muster
