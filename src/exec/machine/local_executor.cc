#include "exec/machine/local_executor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/os/processes.h"
#include "base/text/text.h"

namespace muster {

Result<LocalExecutor> LocalExecutor::open(Settings settings) {
  auto starter = std::make_unique<SpawnedShims>(settings.shim);
  return open(std::move(settings), std::move(starter));
}

Result<LocalExecutor> LocalExecutor::open(Settings settings, std::unique_ptr<ShimStarter> starter) {
  if (::mkdir(settings.leases.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_error(settings.leases, errno);
  }
  LocalExecutor executor(std::move(settings), std::move(starter));
  executor.epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  executor.timer_ = Fd(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!executor.epoll_.open() || !executor.timer_.open()) return system_error("epoll", errno);
  executor.watch(executor.timer_);
  return executor;
}

void LocalExecutor::watch(const Fd& fd) const {
  epoll_event event{};
  event.events = EPOLLIN;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event);
}

void LocalExecutor::wake() {
  itimerspec soon{};
  soon.it_value.tv_nsec = 1;
  ::timerfd_settime(timer_.get(), 0, &soon, nullptr);
}

LocalExecutor::Lease* LocalExecutor::find(const std::string& name) {
  const auto it = leases_.find(name);
  return it == leases_.end() ? nullptr : &it->second;
}

MaybeError LocalExecutor::start(const LaunchSpec& spec) {
  const std::string name = lease_name(spec);
  if (const Lease* running = find(name)) {
    if (running->spec == spec) return std::nullopt;
    return Error{name + ": already running with another spec", ErrorCode::kConflict};
  }
  auto directory = make_record(settings_.leases, spec);
  if (!directory.ok()) return directory.error();
  Lease lease;
  lease.spec = spec;
  lease.directory = std::move(directory).value();
  if (file_exists(lease.directory, "started.json") || file_exists(lease.directory, "exit.json")) {
    const auto found = adopt(name, lease);
    if (!found.ok()) return found.error();
    return std::nullopt;
  }
  if (auto refusal = spawn(name, lease)) return refusal;
  leases_.emplace(name, std::move(lease));
  return std::nullopt;
}

MaybeError LocalExecutor::spawn(const std::string& name, Lease& lease) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe", errno);
  lease.words = Fd(ends[0]);
  const Fd theirs(ends[1]);
  ::fcntl(lease.words.get(), F_SETFL, O_NONBLOCK);
  auto shim = starter_->start(record_path(settings_.leases, name), theirs);
  if (!shim.ok()) return shim.error();
  lease.process = std::move(shim.value().process);
  lease.shim = shim.value().pid;
  lease.child = shim.value().child;
  watch(lease.process);
  watch(lease.words);
  return std::nullopt;
}

Result<Found::What> LocalExecutor::adopt(const std::string& name) {
  if (!is_lease_name(name))
    return Error{in_quotes(name) + ": not a lease name", ErrorCode::kInvalid};
  if (find(name) != nullptr) return Error{name + ": already adopted", ErrorCode::kConflict};
  Lease lease;
  auto directory = open_directory(record_path(settings_.leases, name));
  if (!directory.ok()) return directory.error();
  lease.directory = std::move(directory).value();
  auto spec = read_record(lease.directory);
  if (!spec.ok()) return Error{name + ": " + spec.error().message, spec.error().code};
  if (lease_name(spec.value()) != name)
    return Error{name + ": contains the spec of another lease", ErrorCode::kCorrupt};
  lease.spec = std::move(spec).value();
  return adopt(name, lease);
}

Result<Found::What> LocalExecutor::adopt(const std::string& name, Lease& lease) {
  auto looked = look_at(lease.directory, lease.spec);
  if (!looked.ok()) return looked.error();
  Found& found = looked.value();
  const Found::What what = found.what;
  switch (what) {
    case Found::What::kNeverStarted:
      break;
    case Found::What::kRunning:
      lease.process = std::move(found.process);
      lease.shim = found.started->pid;
      lease.started = true;
      watch(lease.process);
      tell(ExecEvent::Kind::kStarted, name, lease, std::move(found));
      leases_.emplace(name, std::move(lease));
      break;
    case Found::What::kEnded:
      ControlGroup::find(lease.spec.cgroup_parent, mark_of(lease.spec)).remove();
      tell(ExecEvent::Kind::kEnded, name, lease, std::move(found));
      break;
    case Found::What::kLost:
      if (found.rebooted) {
        tell(ExecEvent::Kind::kLost, name, lease, std::move(found));
        break;
      }
      lease.sweeping = true;
      lease.why = found.why;
      if (found.started) lease.since = found.started->process_start;
      leases_.emplace(name, std::move(lease));
      wake();
      break;
  }
  return what;
}

MaybeError LocalExecutor::abandon(const std::string& name) {
  if (!is_lease_name(name))
    return Error{in_quotes(name) + ": not a lease name", ErrorCode::kInvalid};
  if (find(name) != nullptr) return Error{name + ": is running", ErrorCode::kConflict};
  auto directory = open_directory(record_path(settings_.leases, name));
  if (!directory.ok()) return directory.error();
  ExitReport report;
  const auto spec = read_record(directory.value());
  if (spec.ok()) report.token = spec.value().token;
  report.cause = EndCause::kCouldNotStart;
  report.words = "abandoned before it started";
  return close_unstarted(directory.value(), report);
}

Result<LaunchSpec> LocalExecutor::spec(const std::string& name) const {
  if (!is_lease_name(name))
    return Error{in_quotes(name) + ": not a lease name", ErrorCode::kInvalid};
  const auto directory = open_directory(record_path(settings_.leases, name));
  if (!directory.ok()) return directory.error();
  return read_record(directory.value());
}

bool LocalExecutor::forget(const std::string& name) {
  return find(name) == nullptr && forget_record(settings_.leases, name);
}

MaybeError LocalExecutor::resize(const std::string& name, Limits limits) {
  const Lease* lease = find(name);
  if (lease == nullptr) return Error{name + ": not running here", ErrorCode::kNotFound};
  Request request;
  request.what = Request::Do::kResize;
  request.limits = limits;
  return ask_shim(lease->directory, request, settings_.answer_wait);
}

MaybeError LocalExecutor::stop(const std::string& name, std::optional<std::int64_t> grace_ms) {
  const Lease* lease = find(name);
  if (lease == nullptr) return Error{name + ": not running here", ErrorCode::kNotFound};
  Request request;
  request.what = Request::Do::kStop;
  request.grace_ms = grace_ms;
  return ask_shim(lease->directory, request, settings_.answer_wait);
}

// Kills the processes of the job. Returns false if some have not ended yet.
bool LocalExecutor::kill_job(const Lease& lease) const {
  const ControlGroup group = ControlGroup::find(lease.spec.cgroup_parent, mark_of(lease.spec));
  if (!group.empty()) group.kill_all();
  return !lease.process.open() || kill_descendants(lease.shim);
}

MaybeError LocalExecutor::kill(const std::string& name) {
  Lease* lease = find(name);
  if (lease == nullptr) return Error{name + ": not running here", ErrorCode::kNotFound};
  Request request;
  request.what = Request::Do::kKill;
  const bool answered = !ask_shim(lease->directory, request, settings_.answer_wait);
  // A job of the same user can put another socket in place of the shim's.
  const bool believed = answered && ++lease->kills == 1;
  if (believed) return std::nullopt;
  const bool gone = kill_job(*lease);
  // A shim that responds has until the next call to report the end.
  if (!gone || (answered && lease->kills == 2)) return std::nullopt;
  if (lease->process.open() &&
      ::syscall(SYS_pidfd_send_signal, lease->process.get(), SIGKILL, nullptr, 0) != 0 &&
      errno != ESRCH) {
    return system_error(name, errno);
  }
  return std::nullopt;
}

Result<ShimStatus> LocalExecutor::status(const std::string& name) const {
  const auto it = leases_.find(name);
  if (it == leases_.end()) return Error{name + ": not running here", ErrorCode::kNotFound};
  return ask_status(it->second.directory, settings_.answer_wait);
}

bool LocalExecutor::sweep(const LaunchSpec& spec, std::int64_t since, bool patient) const {
  // A process cannot become a descendant of a shim that did not start it. Its environment does not
  // matter.
  std::vector<pid_t> spared;
  for (const auto& [name, lease] : leases_) {
    if (!lease.process.open() || name == lease_name(spec)) continue;
    const std::vector<pid_t> tree = descendants(lease.shim);
    spared.insert(spared.end(), tree.begin(), tree.end());
  }
  return muster::sweep(spec, since, patient, spared);
}

std::vector<PartUse> LocalExecutor::use() const {
  std::vector<PartUse> uses;
  // Wait only briefly per shim: a healthy shim responds immediately.
  constexpr int kMaxSilent = 5;
  const Duration patience = Duration::micros(settings_.answer_wait.us() / kMaxSilent);
  int silent = 0;
  for (const auto& [name, lease] : leases_) {
    if (!lease.started || lease.sweeping) continue;
    const Result<ShimStatus> status = ask_status(lease.directory, patience);
    if (!status.ok() && ++silent == kMaxSilent) break;
    if (!status.ok()) continue;
    uses.push_back({lease.spec.job, lease.spec.epoch, lease.spec.node_rank, status.value().cpu_s,
                    status.value().limits.cpu_milli});
  }
  return uses;
}

}  // namespace muster
