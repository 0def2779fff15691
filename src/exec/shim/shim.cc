#include "exec/shim/shim.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

namespace muster {
namespace {

constexpr std::int64_t kSweepUs = 10'000;
constexpr std::size_t kMaxOutputBytes = 1U << 20U;  // Read from one pipe before others are served.
// How long to wait for our own signal after a rank of a remote lease ended: Slurm may signal the
// ranks first. The wait is shorter if the rank succeeded, because it took time to end.
constexpr int kFailedWaitMs = 300;
constexpr int kFinishedWaitMs = 20;
constexpr const char* kBySignal = "the shim received a signal to end";

std::string end_words(const RankEnd& end) {
  const std::string rank = "rank " + std::to_string(end.rank);
  if (end.signal == 0) return rank + " ended with status " + std::to_string(end.code);
  const char* name = ::sigabbrev_np(end.signal);
  return rank + " was killed by signal " + std::to_string(end.signal) +
         (name != nullptr ? std::string(" (SIG") + name + ")" : "");
}

// Slurm ends a job by signaling its processes one after the other, and the shim may be the last.
// Returns true if our signal arrives within `ms` milliseconds.
bool is_told_to_end(int ms) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT}) ::sigaddset(&set, number);
  const timespec most{0, ms * 1'000'000L};
  return ::sigtimedwait(&set, nullptr, &most) > 0;
}

}  // namespace

Shim::Shim(Fd directory, Fd lock, LaunchSpec spec)
    : directory_(std::move(directory)), lock_(std::move(lock)), spec_(std::move(spec)) {
  limits_ = {.cpu_milli = spec_.cpu_milli, .mem_mib = spec_.mem_mib};
}

Result<Shim> Shim::claim(const std::string& path) {
  auto directory = open_directory(path);
  if (!directory.ok()) return directory.error();
  Fd& dir = directory.value();
  Fd lock(::openat(dir.get(), "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.open()) return system_error("lock", errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return Error{"another shim is running this lease", ErrorCode::kConflict};
  if (file_exists(dir, "started.json") || file_exists(dir, "exit.json")) {
    return Error{"this lease has been started before", ErrorCode::kConflict};
  }
  const auto text = read_file(dir.get(), "spec.json", kMaxSpecBytes);
  if (!text.ok()) return text.error();
  auto spec = read_spec(text.value());
  if (!spec.ok()) return Error{"spec.json: " + spec.error().message, ErrorCode::kCorrupt};
  Shim shim(std::move(dir), std::move(lock), std::move(spec).value());
  char real[PATH_MAX];
  if (::realpath(path.c_str(), real) == nullptr) return system_error(path, errno);
  shim.path_ = real;
  return shim;
}

MaybeError Shim::prepare() {
  if (spec_.remote) {
    const auto order = look_for_remote_order(path_);
    if (!order.ok()) return order.error();
    if (order.value() && order.value()->ends())
      return Error{"this lease was ended before it started", ErrorCode::kConflict};
  }
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return system_error("subreaper", errno);
  if (auto refusal = open_descriptors()) return refusal;
  const auto report_bytes = static_cast<std::size_t>(8192 + 128 * local_ranks(spec_));
  if (auto refusal = reserve(directory_, "exit.json", report_bytes)) return refusal;
  const Fd progress(::openat(directory_.get(), "progress.jsonl",
                             O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!progress.open()) return system_error("progress.jsonl", errno);

  auto group = ControlGroup::create(spec_.cgroup_parent, mark_of(spec_), limits_);
  if (group.ok()) {
    group_ = std::move(group).value();
  } else {
    reduced_why_ = spec_.remote
                       ? "limits are enforced by the shim and, if configured, by the cluster"
                       : group.error().message;
    throttle_.emplace(limits_.cpu_milli);
  }
  output_.emplace(LogFile(directory_, spec_.log_cap_bytes, spec_.log_files));
  if (auto error = output_->open(events_.get(), spec_.first_rank, local_ranks(spec_))) return error;
  return record_start();
}

// Opens the descriptors that run() waits for, except the pipes of the output.
MaybeError Shim::open_descriptors() {
  sigset_t mask;
  ::sigemptyset(&mask);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGPIPE}) ::sigaddset(&mask, number);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  signals_ = Fd(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  timer_ = Fd(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  events_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  auto control = ControlServer::open(directory_);
  if (!control.ok()) return control.error();
  control_ = std::move(control).value();
  for (const int fd : {signals_.get(), timer_.get(), control_->fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      return system_error("epoll", errno);
    }
  }
  return std::nullopt;
}

// Writes started.json. Fails for a remote lease that has been ended in the meantime.
MaybeError Shim::record_start() {
  start_ = now_on_both_clocks();
  const auto born = process_start(::getpid());
  if (!born.ok()) return born.error();
  const StartedFacts facts{.token = spec_.token,
                           .pid = ::getpid(),
                           .process_start = born.value(),
                           .boot_id = boot_id(),
                           .at = start_,
                           .isolation = group_ ? std::string(group_->kind()) : "reduced",
                           .isolation_why = reduced_why_};
  if (auto refusal = write_whole(directory_, "started.json", started_json(facts))) return refusal;
  if (!spec_.remote) return std::nullopt;
  // Check again: the daemon may have given up this lease during a slow write.
  heard_us_ = boot_micros();
  const auto order = look_for_remote_order(path_);
  if (!order.ok()) return order.error();
  if ((order.value() && order.value()->ends()) || file_exists(directory_, "exit.json")) {
    return Error{"this lease was ended while it was starting", ErrorCode::kConflict};
  }
  return std::nullopt;
}

void Shim::start_ranks() {
  Result<std::vector<Fd>> doors = group_ ? group_->doors() : std::vector<Fd>();
  const auto failure = doors.ok() ? ranks_.start(spec_, path_ + "/progress.jsonl",
                                                 output_->write_ends(), doors.value(), data_limit())
                                  : StartFailure{errno, doors.error().message};
  output_->close_write_ends();
  if (failure) {
    error_number_ = failure->error_number;
    end_with(EndCause::kCouldNotStart, failure->words);
    kill_everything();
  }
  const std::int64_t now = boot_micros();
  if (spec_.time_limit_ms > 0) limit_at_ = now + spec_.time_limit_ms * 1000;
  if (throttle_) throttle_at_ = now;
  if (!spec_.remote) return;
  fence_ = std::make_unique<LeaseFence>(path_, spec_.stop_after_ms * 1000, heard_us_);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fence_->fd();
  ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fence_->fd(), &event);
}

// A remote lease needs no RLIMIT_DATA, because the cluster can enforce limits too.
std::int64_t Shim::data_limit() const {
  return group_ || spec_.remote ? 0 : data_limit_bytes(limits_);
}

MaybeError Shim::run() {
  start_ranks();
  take_ends();
  loop();
  output_->finish();
  if (spec_.remote && !cause_ && is_told_to_end(kFinishedWaitMs)) {
    end_with(EndCause::kStopped, kBySignal);
  }
  fence_.reset();
  const ExitReport last = report();
  if (group_) group_->remove();
  ::unlinkat(directory_.get(), "ctl", 0);
  return write_whole(directory_, "exit.json", exit_json(last));
}

void Shim::loop() {
  while (!over()) {
    const std::int64_t at = next_deadline();
    itimerspec when{};
    if (at != kNever) when.it_value = {at / 1'000'000, (at % 1'000'000) * 1000 + 1};
    ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
    epoll_event happened[8];
    const int n = ::epoll_wait(events_.get(), happened, 8, -1);
    for (int i = 0; i < n; ++i) {
      const int fd = happened[i].data.fd;
      output_->take(fd, kMaxOutputBytes / static_cast<std::size_t>(local_ranks(spec_)));
      if (fd == signals_.get()) take_signals();
      if (fd == timer_.get()) {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t got = ::read(fd, &count, sizeof count);
      }
      if (fence_ && fd == fence_->fd()) {
        if (const auto order = fence_->take()) obey(*order);
      }
      if (fd == control_->fd()) {
        control_->serve(boot_micros(), [this](std::string_view line) { return answer(line); });
      }
    }
    act_on_time(boot_micros());
  }
}

// No rank and no descendant of a rank is left.
bool Shim::over() const {
  return ranks_.running() == 0 && !ranks_.anything_left() && (!group_ || group_->empty());
}

std::int64_t Shim::next_deadline() const {
  return std::min({limit_at_, kill_at_, throttle_at_, sweep_at_,
                   control_->deadline().value_or(kNever), fence_at()});
}

std::int64_t Shim::fence_at() const {
  return fence_ && cause_ != EndCause::kKilled ? fence_->deadline_us() : kNever;
}

void Shim::act_on_time(std::int64_t now_us) {
  if (now_us >= fence_at()) {
    cause_.reset();  // This cause replaces earlier ones, and there is no grace period.
    end_with(EndCause::kKilled, "the lease record was unreadable for " +
                                    std::to_string(spec_.stop_after_ms / 1000) + " s");
    kill_everything();
  }
  if (now_us >= limit_at_) {
    limit_at_ = kNever;
    end_with(EndCause::kTimeLimit,
             "exceeded its time limit of " + std::to_string(spec_.time_limit_ms) + " ms");
    stop(spec_.grace_ms);
  }
  if (now_us >= kill_at_) {
    forced_ = true;
    kill_everything();
  }
  if (ranks_.running() == 0 && (sweep_at_ == kNever || now_us >= sweep_at_)) {
    // The job ends with its ranks. Processes they left behind are killed.
    kill_everything();
    take_ends();
  }
  if (now_us >= throttle_at_) hold_to_limits(now_us);
  if (control_->deadline().value_or(kNever) <= now_us) {
    control_->serve(now_us, [this](std::string_view line) { return answer(line); });
  }
}

void Shim::take_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) {
      end_with(EndCause::kStopped, kBySignal);
      stop(spec_.grace_ms);
    }
  }
  take_ends();
}

void Shim::take_ends() {
  for (const RankEnd& end : ranks_.reap()) {
    ends_.push_back(end);
    if (end.code == 0 && end.signal == 0) continue;
    if (cause_) continue;
    if (spec_.remote && is_told_to_end(kFailedWaitMs)) {
      end_with(EndCause::kStopped, kBySignal);
    } else if (group_ && group_->oom_kills() > 0) {
      end_with(EndCause::kOutOfMemory, "exceeded its memory limit of " +
                                           std::to_string(limits_.mem_mib) + " MiB; " +
                                           end_words(end));
    } else {
      end_with(EndCause::kFailed, end_words(end));
    }
    stop(spec_.grace_ms);
  }
}

void Shim::hold_to_limits(std::int64_t now_us) {
  const std::vector<pid_t> tree = ranks_.all();
  const TreeUse use = tree_use(tree);
  const std::int64_t most = limits_.mem_mib << 20;
  std::int64_t held = use.rss_bytes;
  if (held > most) held = tree_pss_bytes(tree);  // Slow, but counts shared pages once.
  mem_peak_bytes_ = std::max(mem_peak_bytes_, held);
  if (held > most && !cause_) {
    end_with(EndCause::kOutOfMemory, "used " + std::to_string(held >> 20) +
                                         " MiB; its memory limit is " +
                                         std::to_string(limits_.mem_mib) + " MiB");
    kill_everything();
  }
  const Throttle::Step step = throttle_->step(now_us, ranks_.cpu_s(use));
  pause(step.run, tree);
  throttle_at_ = step.next_us;
}

void Shim::pause(bool run, const std::vector<pid_t>& tree) {
  if (run == !paused_) return;
  ranks_.signal_all_groups(tree, run ? SIGCONT : SIGSTOP);
  paused_ = !run;
}

void Shim::end_with(EndCause cause, std::string words) {
  if (cause_) return;  // The first cause is the one to report.
  cause_ = cause;
  words_ = std::move(words);
}

void Shim::stop(std::int64_t grace_ms) {
  ranks_.signal(SIGTERM);
  kill_at_ = std::min(kill_at_, boot_micros() + grace_ms * 1000);
}

void Shim::kill_everything() {
  kill_at_ = kNever;
  limit_at_ = kNever;
  throttle_at_ = kNever;
  if (group_) group_->kill_all();
  ranks_.kill_all();
  sweep_at_ = boot_micros() + kSweepUs;
}

}  // namespace muster
