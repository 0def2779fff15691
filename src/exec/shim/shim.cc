#include "exec/shim/shim.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

#include "base/os/processes.h"
#include "exec/lease/progress_cap.h"

namespace muster {
namespace {

constexpr std::size_t kMaxOutputBytes = 1U << 20U;  // Read from one pipe before others are served.
// How long to wait for our own signal after a rank of a remote lease ended: Slurm may signal the
// ranks first. The wait is shorter if the rank succeeded, because it took time to end.
constexpr int kFailedWaitMs = 300;
constexpr int kFinishedWaitMs = 20;
constexpr std::int64_t kProgressUs = 500'000;  // Between checks of the size of progress.jsonl.
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

MaybeError Shim::prepare(const MakeProcesses& make) {
  if (spec_.remote) {
    const auto order = look_for_remote_order(path_);
    if (!order.ok()) return order.error();
    if (order.value() && order.value()->ends())
      return Error{"this lease was ended before it started", ErrorCode::kConflict};
  }
  if (auto refusal = open_descriptors()) return refusal;
  const auto report_bytes = static_cast<std::size_t>(8192 + 128 * local_ranks(spec_));
  if (auto refusal = reserve(directory_, "exit.json", report_bytes)) return refusal;
  const Fd progress(::openat(directory_.get(), "progress.jsonl",
                             O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!progress.open()) return system_error("progress.jsonl", errno);

  auto processes = make(spec_, path_ + "/progress.jsonl");
  if (!processes.ok()) return processes.error();
  processes_ = std::move(processes).value();
  output_.emplace(LogFile(directory_, spec_.log_cap_bytes, spec_.log_files));
  if (auto error = output_->open(events_.get(), spec_.first_rank, local_ranks(spec_))) return error;
  if (auto refusal = watch(processes_->fd())) return refusal;
  return record_start();
}

// Opens the descriptors that run() waits for, except those of the output and of the processes.
MaybeError Shim::open_descriptors() {
  sigset_t mask;
  ::sigemptyset(&mask);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) ::sigaddset(&mask, number);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  signals_ = Fd(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  timer_ = Fd(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  events_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  auto control = ControlServer::open(directory_);
  if (!control.ok()) return control.error();
  control_ = std::move(control).value();
  for (const int fd : {signals_.get(), timer_.get(), control_->fd()}) {
    if (auto refusal = watch(fd)) return refusal;
  }
  return std::nullopt;
}

MaybeError Shim::watch(int fd) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return system_error("epoll", errno);
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
                           .isolation = processes_->isolation(),
                           .isolation_why = processes_->isolation_why()};
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
  processes_->start(output_->write_ends());
  output_->close_write_ends();
  if (spec_.time_limit_ms > 0) limit_at_ = boot_micros() + spec_.time_limit_ms * 1000;
  if (spec_.remote) {
    fence_ = std::make_unique<LeaseFence>(path_, spec_.stop_after_ms * 1000, heard_us_);
    watch(fence_->fd());
  }
  progress_at_ = boot_micros() + kProgressUs;
  take_events();
}

MaybeError Shim::run() {
  start_ranks();
  loop();
  output_->finish();
  cap_progress(directory_);
  if (spec_.remote && !cause_ && is_told_to_end(kFinishedWaitMs)) {
    end_with(EndCause::kStopped, kBySignal);
  }
  fence_.reset();
  const ExitReport last = report();
  processes_.reset();
  ::unlinkat(directory_.get(), "ctl", 0);
  return write_whole(directory_, "exit.json", exit_json(last));
}

void Shim::loop() {
  while (!over_) {
    const std::int64_t at = next_deadline();
    itimerspec when{};
    if (at != kNever) when.it_value = {at / 1'000'000, (at % 1'000'000) * 1000 + 1};
    ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
    epoll_event happened[8];
    const int n = ::epoll_wait(events_.get(), happened, 8, -1);
    bool changed = false;
    for (int i = 0; i < n; ++i) {
      const int fd = happened[i].data.fd;
      output_->take(fd, kMaxOutputBytes / static_cast<std::size_t>(local_ranks(spec_)));
      if (fd == signals_.get()) take_signals();
      changed = changed || fd == processes_->fd();
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
    if (changed) {
      take_signals();  // First: a signal to end may be the cause of the events.
      take_events();
    }
    act_on_time(boot_micros());
  }
}

bool Shim::ranks_over() const {
  return static_cast<int>(ends_.size()) == (start_failed_ ? ran_ : local_ranks(spec_));
}

std::int64_t Shim::next_deadline() const {
  return std::min({limit_at_, kill_at_, processes_->deadline_us(), progress_at_,
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
  if (ranks_over() && !left_killed_ && !over_) {
    // The job ends with its ranks. Processes they left behind are killed.
    left_killed_ = true;
    kill_everything();
    take_events();
  }
  if (now_us >= processes_->deadline_us()) take_events();
  if (now_us >= progress_at_) {
    cap_progress(directory_);
    progress_at_ = now_us + kProgressUs;
  }
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
}

void Shim::take_events() {
  for (ProcessEvent& event : processes_->take(boot_micros())) {
    switch (event.kind) {
      case ProcessEvent::Kind::kRan:
        ++ran_;
        break;
      case ProcessEvent::Kind::kFailed:
        start_failed_ = true;
        if (!cause_) error_number_ = event.error_number;
        end_with(EndCause::kCouldNotStart, std::move(event.words));
        kill_everything();
        break;
      case ProcessEvent::Kind::kEnded:
        take_end(event.end, event.words);
        break;
      case ProcessEvent::Kind::kOutOfMemory:
        out_of_memory_ = out_of_memory_ || event.used_bytes == 0;
        if (event.used_bytes == 0 || cause_) break;
        end_with(EndCause::kOutOfMemory, "used " + std::to_string(event.used_bytes >> 20) +
                                             " MiB; its memory limit is " +
                                             std::to_string(limits_.mem_mib) + " MiB");
        kill_everything();
        break;
      case ProcessEvent::Kind::kOver:
        over_ = true;
        break;
    }
  }
}

void Shim::take_end(const RankEnd& end, const std::string& circumstance) {
  ends_.push_back(end);
  if (cause_ || (end.code == 0 && end.signal == 0)) return;
  if (spec_.remote && is_told_to_end(kFailedWaitMs)) {
    end_with(EndCause::kStopped, kBySignal);
  } else if (out_of_memory_) {
    end_with(EndCause::kOutOfMemory, "exceeded its memory limit of " +
                                         std::to_string(limits_.mem_mib) + " MiB; " +
                                         end_words(end));
  } else {
    end_with(EndCause::kFailed, end_words(end) + (circumstance.empty() ? "" : "; " + circumstance));
  }
  stop(spec_.grace_ms);
}

void Shim::end_with(EndCause cause, std::string words) {
  if (cause_) return;  // The first cause is the one to report.
  cause_ = cause;
  words_ = std::move(words);
}

void Shim::stop(std::int64_t grace_ms) {
  processes_->signal(SIGTERM);
  kill_at_ = std::min(kill_at_, boot_micros() + grace_ms * 1000);
}

void Shim::kill_everything() {
  kill_at_ = kNever;
  limit_at_ = kNever;
  processes_->kill();
}

}  // namespace muster
