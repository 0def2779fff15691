#include "exec/slurm/command_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/os/spawn.h"
#include "base/text/text.h"
#include "exec/slurm/marked_table.h"

namespace muster {
namespace {

constexpr std::int64_t kNsPerUs = 1000;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr int kLastWaitMs = 1000;  // Time for killed programs to end, in the destructor.
constexpr std::size_t kMaxWords = 300;

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

// Whether a variable would change the behavior of Slurm's commands.
bool steers_slurm(std::string_view name) {
  for (const char* kept : {"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT"}) {
    if (name == kept) return false;
  }
  for (const char* prefix : {"SLURM_", "SLURMD_", "SBATCH_", "SQUEUE_", "SINFO_", "SCANCEL_",
                             "SCONTROL_", "SRUN_", "SALLOC_", "SACCT_"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

std::vector<std::string> whole_environment(std::vector<std::string> extra) {
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view name = name_of(*entry);
    const bool replaced = std::any_of(extra.begin(), extra.end(),
                                      [&](const auto& said) { return name_of(said) == name; });
    if (!replaced && !steers_slurm(name)) extra.emplace_back(*entry);
  }
  return extra;
}

std::string printable(std::string_view text) { return one_line(text.substr(0, kMaxWords)); }

std::string last_line(std::string_view text) {
  while (true) {
    text = trim(text);
    const std::size_t end = text.rfind('\n');
    const std::string_view line = end == std::string_view::npos ? text : text.substr(end + 1);
    if (!trim(line).empty() || end == std::string_view::npos) return printable(trim(line));
    text = text.substr(0, end);
  }
}

std::string words_of(const std::string& name, const CommandResult& result) {
  if (result.how == CommandResult::How::kKilled) {
    return fmt::format("{}: killed by signal {}", name, result.status);
  }
  if (result.status == 0) {
    return result.cut
               ? fmt::format("{}: output longer than {} MiB", name, Commands::kMaxOutput >> 20U)
               : "";
  }
  std::string said = last_line(result.err);
  if (said.empty()) said = last_line(result.out);
  if (said.empty()) return fmt::format("{}: ended with status {}", name, result.status);
  return said.starts_with(name) ? said : name + ": " + said;
}

// Reads the available bytes, but at most the capacity of a pipe, because the program may write
// faster than we read. Returns false when the other end is closed.
bool read_into(const Fd& fd, std::string& to, std::size_t most, bool& cut) {
  constexpr std::size_t kBuffer = 64 << 10;
  constexpr std::size_t kMaxOfPipe = 1 << 20;
  char buffer[kBuffer];
  for (std::size_t left = kMaxOfPipe; left > 0;) {
    const ssize_t n = ::read(fd.get(), buffer, std::min(left, kBuffer));
    if (n == 0) return false;
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN;
    }
    const auto got = static_cast<std::size_t>(n);
    const std::size_t taken = std::min(got, most - to.size());
    to.append(buffer, taken);
    if (taken < got) cut = true;
    left -= got;
  }
  return true;
}

// Returns the input of a program as an unnamed file, so that we need not write to a pipe.
Result<Fd> input_file(const std::string& input) {
  Fd fd(input.empty() ? ::open("/dev/null", O_RDONLY | O_CLOEXEC)
                      : ::memfd_create("muster-input", MFD_CLOEXEC));
  if (!fd.open()) return system_error("input", errno);
  std::string_view rest = input;
  while (!rest.empty()) {
    const ssize_t n = ::write(fd.get(), rest.data(), rest.size());
    if (n < 0 && errno != EINTR) return system_error("input", errno);
    if (n > 0) rest.remove_prefix(static_cast<std::size_t>(n));
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

std::vector<char*> pointers(const std::vector<std::string>& list) {
  std::vector<char*> all;
  for (const std::string& entry : list) all.push_back(const_cast<char*>(entry.c_str()));
  all.push_back(nullptr);
  return all;
}

// Starts the program with these three descriptors. See SpawnPlan::set_apart().
Result<pid_t> spawn_program(const std::string& path, const std::vector<std::string>& argv,
                            const std::vector<std::string>& environment, const int (&fds)[3]) {
  SpawnPlan plan;
  for (int i = 0; i < 3; ++i) ::posix_spawn_file_actions_adddup2(&plan.files, fds[i], i);
  plan.set_apart();
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, path.c_str(), &plan.files, &plan.attributes,
                                  pointers(argv).data(), pointers(environment).data());
  if (error != 0) return system_error(argv[0], error);
  return pid;
}

bool over(const Fd& process) {
  pollfd ready{process.get(), POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1;
}

// Reaps an ended process and stores how it ended.
void reap(int pid, CommandResult* result) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return;  // It has been reaped elsewhere.
  }
  if (result == nullptr) return;
  result->how = WIFSIGNALED(status) ? CommandResult::How::kKilled : CommandResult::How::kEnded;
  result->status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Commands::Commands(std::vector<std::string> environment)
    : environment_(whole_environment(std::move(environment))),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (epoll_.open() && timer_.open() && watch(timer_)) timer_.reset();
}

Commands::~Commands() {
  for (auto& [ticket, child] : children_) {
    ::kill(-child.pid, SIGKILL);
    dying_.push_back({child.pid, std::move(child.process)});
  }
  for (const Dying& dying : dying_) {
    pollfd ready{dying.process.get(), POLLIN, 0};
    if (::poll(&ready, 1, kLastWaitMs) == 1) reap(dying.pid, nullptr);
  }
}

std::optional<std::string> Commands::find(const std::string& program) const {
  const auto runs = [](const std::string& path) {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
  };
  if (program.find('/') != std::string::npos) {
    return runs(program) ? std::optional(program) : std::nullopt;
  }
  for (const std::string& entry : environment_) {
    if (name_of(entry) != "PATH") continue;
    for (const std::string_view folder : split(std::string_view(entry).substr(5), ':')) {
      std::string path = (folder.empty() ? "." : std::string(folder)) + "/" + program;
      if (!program.empty() && runs(path)) return path;
    }
    break;
  }
  return std::nullopt;
}

MaybeError Commands::watch(const Fd& fd) const {
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) == 0) return std::nullopt;
  return system_error("epoll", errno);
}

Commands::Ticket Commands::start(std::vector<std::string> argv, Duration timeout,
                                 std::string input) {
  const Ticket ticket = ++last_;
  Child child;
  child.timeout = timeout;
  const std::int64_t most_us = kLongestDuration.us();
  child.deadline_ns = now_ns() + std::clamp<std::int64_t>(timeout.us(), 0, most_us) * kNsPerUs;
  if (!argv.empty()) child.name = argv[0].substr(argv[0].rfind('/') + 1);
  if (const auto refusal = spawn(child, argv, input)) {
    child.result.how = CommandResult::How::kNotStarted;
    child.result.words = printable(refusal->message);
    done_.emplace_back(ticket, std::move(child.result));
  } else {
    children_.emplace(ticket, std::move(child));
  }
  set_timer();
  return ticket;
}

MaybeError Commands::spawn(Child& child, const std::vector<std::string>& argv,
                           const std::string& input) {
  if (!epoll_.open() || !timer_.open())
    return Error{child.name + ": no file descriptors left", ErrorCode::kSystem};
  for (const std::string& argument : argv) {
    if (argument.find('\0') != std::string::npos) {
      return Error{child.name + ": an argument contains a zero byte", ErrorCode::kInvalid};
    }
  }
  const auto path = argv.empty() ? std::nullopt : find(argv[0]);
  if (!path) return Error{child.name + ": not found in PATH", ErrorCode::kNotFound};
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0) return system_error(child.name, errno);
  child.out = Fd(out[0]);
  const Fd their_out(out[1]);
  if (::pipe2(err, O_CLOEXEC) != 0) return system_error(child.name, errno);
  child.err = Fd(err[0]);
  const Fd their_err(err[1]);
  for (const Fd* fd : {&child.out, &child.err}) {
    ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
    if (auto refusal = watch(*fd)) return refusal;
  }
  const auto their_in = input_file(input);
  if (!their_in.ok()) return their_in.error();
  const auto pid = spawn_program(*path, argv, environment_,
                                 {their_in.value().get(), their_out.get(), their_err.get()});
  if (!pid.ok()) return pid.error();
  child.pid = pid.value();
  child.process = Fd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  MaybeError refusal;
  if (!child.process.open()) refusal = system_error(child.name, errno);
  if (!refusal) refusal = watch(child.process);
  if (refusal) {  // The program runs, but we cannot watch it.
    ::kill(-child.pid, SIGKILL);
    reap(child.pid, nullptr);
  }
  return refusal;
}

bool Commands::advance(Child& child, std::int64_t now) {
  const bool ended = over(child.process);  // Before reading, so that the output is complete.
  bool err_cut = false;
  if (child.out.open() && !read_into(child.out, child.result.out, kMaxOutput, child.result.cut)) {
    child.out.reset();
  }
  if (child.err.open() && !read_into(child.err, child.result.err, kMaxError, err_cut)) {
    child.err.reset();
  }
  if (!ended && now < child.deadline_ns) return false;
  // Kill its children too. Until the program is reaped, its id cannot be reused.
  ::kill(-child.pid, SIGKILL);
  if (ended) {
    reap(child.pid, &child.result);
    child.result.words = words_of(child.name, child.result);
  } else {
    child.result.how = CommandResult::How::kTimedOut;
    const std::string said = last_line(child.result.err);  // Slurm prints what it waits for.
    child.result.words = fmt::format("{}: no response within {}{}{}", child.name,
                                     short_duration(child.timeout), said.empty() ? "" : ": ", said);
    dying_.push_back({child.pid, std::move(child.process)});
  }
  return true;
}

void Commands::work() {
  std::uint64_t expirations = 0;
  const ssize_t drained = ::read(timer_.get(), &expirations, sizeof expirations);
  static_cast<void>(drained);  // Only the current time matters.
  const std::int64_t now = now_ns();
  std::erase_if(dying_, [](const Dying& dying) {
    if (!over(dying.process)) return false;
    reap(dying.pid, nullptr);
    return true;
  });
  for (auto it = children_.begin(); it != children_.end();) {
    if (advance(it->second, now)) {
      done_.emplace_back(it->first, std::move(it->second.result));
      it = children_.erase(it);
    } else {
      ++it;
    }
  }
}

void Commands::set_timer() {
  std::int64_t next = 0;  // Disarmed.
  for (const auto& [ticket, child] : children_) {
    next = next == 0 ? child.deadline_ns : std::min(next, child.deadline_ns);
  }
  if (!done_.empty()) next = 1;  // In the past: fires immediately.
  itimerspec due{};
  due.it_value.tv_sec = next / kNsPerSecond;
  due.it_value.tv_nsec = next % kNsPerSecond;
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &due, nullptr);
}

std::vector<std::pair<Commands::Ticket, CommandResult>> Commands::poll() {
  work();
  std::vector<std::pair<Ticket, CommandResult>> results = std::move(done_);
  done_.clear();
  set_timer();
  return results;
}

CommandResult Commands::run(std::vector<std::string> argv, Duration timeout, std::string input) {
  const Ticket ticket = start(std::move(argv), timeout, std::move(input));
  while (true) {
    const auto mine = std::find_if(done_.begin(), done_.end(),
                                   [&](const auto& entry) { return entry.first == ticket; });
    if (mine != done_.end()) {
      CommandResult result = std::move(mine->second);
      done_.erase(mine);
      set_timer();
      return result;
    }
    // Hide pending results from the timer, which would otherwise fire immediately.
    std::vector<std::pair<Ticket, CommandResult>> others = std::move(done_);
    done_.clear();
    set_timer();
    pollfd ready{epoll_.get(), POLLIN, 0};
    ::poll(&ready, 1, -1);
    done_ = std::move(others);
    work();
  }
}

}  // namespace muster
