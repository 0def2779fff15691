#include "base/os/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/text/text.h"

namespace muster {
namespace {

constexpr std::size_t kMaxProcBytes = 8 << 20;

std::int64_t clock_micros(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1000;
}

Result<std::string> read_proc(pid_t pid, const char* name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  return read_file(AT_FDCWD, path.c_str(), kMaxProcBytes);
}

// Returns field n of /proc/PID/stat, numbered as in proc(5). The name in brackets can contain any
// byte.
std::int64_t stat_field(std::string_view stat, int n) {
  const std::size_t bracket = stat.rfind(')');
  if (bracket == std::string_view::npos || bracket + 2 > stat.size()) return 0;
  const auto fields = split(stat.substr(bracket + 2), ' ');
  const auto at = static_cast<std::size_t>(n - 3);
  if (at >= fields.size()) return 0;
  const auto value = parse_int(trim(fields[at]));
  return value.ok() ? value.value() : 0;
}

// Returns the number after `key` at the start of a line.
std::int64_t line_number(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(key)) continue;
    const std::string_view rest = trim(line.substr(key.size()));
    std::int64_t value = 0;
    std::from_chars(rest.data(), rest.data() + rest.size(), value);
    return value;
  }
  return 0;
}

// Returns the entries of a /proc directory that are numbers.
std::vector<pid_t> numbers_in(const std::string& path) {
  std::vector<pid_t> found;
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return found;
  while (const dirent* entry = ::readdir(directory)) {
    const auto value = parse_int(entry->d_name);
    if (value.ok() && value.value() > 0) found.push_back(static_cast<pid_t>(value.value()));
  }
  ::closedir(directory);
  return found;
}

void add_children(pid_t pid, std::vector<pid_t>& list) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task/";
  for (const pid_t task : numbers_in(tasks)) {
    const std::string path = tasks + std::to_string(task) + "/children";
    const auto text = read_file(AT_FDCWD, path.c_str(), kMaxProcBytes);
    if (!text.ok()) continue;
    for (const std::string_view word : split(trim(text.value()), ' ')) {
      const auto child = parse_int(word);
      if (child.ok()) list.push_back(static_cast<pid_t>(child.value()));
    }
  }
}

enum class Carries { kNo, kYes, kUnsure };

// Classifies a process with an unreadable environment. kNo: it never has one, or it is not ours.
// kUnsure: it is in exec or about to end.
Carries without_environment(pid_t pid, std::int64_t since) {
  constexpr std::int64_t kKernelThread = 0x00200000;  // PF_KTHREAD
  constexpr int kFlags = 9;
  constexpr int kStart = 22;
  constexpr int kEnvironmentEnd = 51;
  const auto stat = read_proc(pid, "stat");
  if (!stat.ok()) return Carries::kNo;
  const std::size_t bracket = stat.value().rfind(") ");
  const char state = bracket == std::string::npos ? 'X' : stat.value()[bracket + 2];
  if (state == 'Z' || state == 'X') return Carries::kNo;
  if (stat_field(stat.value(), kFlags) & kKernelThread) return Carries::kNo;
  if (stat_field(stat.value(), kEnvironmentEnd) != 0) return Carries::kNo;
  if (stat_field(stat.value(), kStart) < since) return Carries::kNo;
  const auto status = read_proc(pid, "status");
  if (!status.ok()) return Carries::kNo;
  // "Uid:  real  effective  ...": the environment of other users' processes is never readable.
  const std::size_t line = status.value().find("\nUid:\t");
  if (line == std::string::npos) return Carries::kNo;
  const auto ids = split(std::string_view(status.value()).substr(line + 6, 40), '\t');
  const auto effective = parse_int(ids.size() > 1 ? ids[1] : "");
  const bool ours = ::geteuid() == 0 || (effective.ok() && effective.value() == ::geteuid());
  return ours ? Carries::kUnsure : Carries::kNo;
}

Carries carries(pid_t pid, std::string_view entry, std::int64_t since) {
  const auto environ = read_proc(pid, "environ");
  if (!environ.ok() || environ.value().empty()) return without_environment(pid, since);
  const auto entries = split(environ.value(), '\0');
  const bool found = std::find(entries.begin(), entries.end(), entry) != entries.end();
  return found ? Carries::kYes : Carries::kNo;
}

// Whether the process descends from `root`. False if it has ended.
bool descends_from(pid_t pid, pid_t root) {
  constexpr int kParent = 4;
  while (pid > 1) {
    const auto stat = read_proc(pid, "stat");
    if (!stat.ok()) return false;
    pid = static_cast<pid_t>(stat_field(stat.value(), kParent));
    if (pid == root) return true;
  }
  return false;
}

bool has_ended(pid_t pid) {
  const auto stat = read_proc(pid, "stat");
  const std::size_t bracket = stat.ok() ? stat.value().rfind(") ") : std::string::npos;
  if (bracket == std::string::npos) return true;
  const char state = stat.value()[bracket + 2];
  return state == 'Z' || state == 'X';
}

// Signals the descendants of `root` that have not ended, and returns their number.
int signal_tree(pid_t root, int number) {
  int count = 0;
  for (const pid_t pid : descendants(root)) {
    const Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    // Check after the open: the id may belong to another process now.
    if (!fd.open() || has_ended(pid) || !descends_from(pid, root)) continue;
    ::syscall(SYS_pidfd_send_signal, fd.get(), number, nullptr, 0);
    ++count;
  }
  return count;
}

}  // namespace

ClockPair now_on_both_clocks() {
  return {.wall_us = clock_micros(CLOCK_REALTIME), .boot_us = boot_micros()};
}

std::int64_t boot_micros() { return clock_micros(CLOCK_BOOTTIME); }

std::string boot_id() {
  const auto text = read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 100);
  return text.ok() ? std::string(trim(text.value())) : "";
}

Result<std::int64_t> process_start(pid_t pid) {
  const auto stat = read_proc(pid, "stat");
  if (!stat.ok()) return stat.error();
  return stat_field(stat.value(), 22);
}

Result<Fd> open_process(pid_t pid, std::int64_t start) {
  Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd.open()) return system_error("process " + std::to_string(pid), errno);
  const auto found = process_start(pid);
  if (!found.ok()) return found.error();
  if (found.value() != start) {
    return Error{
        "process " + std::to_string(pid) + ": has ended, and its id belongs to another process",
        ErrorCode::kNotFound};
  }
  return fd;
}

std::vector<pid_t> descendants(pid_t pid) {
  std::vector<pid_t> list;
  add_children(pid, list);
  for (std::size_t i = 0; i < list.size(); ++i) add_children(list[i], list);
  return list;
}

bool kill_descendants(pid_t root) {
  constexpr int kRounds = 250;
  constexpr useconds_t kRoundUs = 4'000;
  for (int round = 0; round < kRounds; ++round) {
    // Stop them first, so that a process cannot start another one for each that is killed.
    signal_tree(root, SIGSTOP);
    if (signal_tree(root, SIGKILL) == 0) return true;
    ::usleep(kRoundUs);
  }
  return false;
}

TreeUse tree_use(const std::vector<pid_t>& pids) {
  static const auto kTicks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const std::int64_t kPage = ::sysconf(_SC_PAGESIZE);
  TreeUse use;
  for (const pid_t pid : pids) {
    const auto stat = read_proc(pid, "stat");
    if (!stat.ok()) continue;
    for (int field = 14; field <= 17; ++field) {
      use.cpu_s += static_cast<double>(stat_field(stat.value(), field)) / kTicks;
    }
    use.rss_bytes += stat_field(stat.value(), 24) * kPage;
  }
  return use;
}

std::int64_t tree_pss_bytes(const std::vector<pid_t>& pids) {
  std::int64_t sum = 0;
  for (const pid_t pid : pids) {
    const auto text = read_proc(pid, "smaps_rollup");
    if (text.ok()) sum += line_number(text.value(), "Pss:") * 1024;
  }
  return sum;
}

IoUse own_io_use(std::int64_t& text_bytes) {
  const auto text = read_proc(::getpid(), "io");
  text_bytes = 0;
  if (!text.ok()) return {};
  text_bytes = static_cast<std::int64_t>(text.value().size());
  return {.read = line_number(text.value(), "rchar:"),
          .written = line_number(text.value(), "wchar:"),
          .disk_read = line_number(text.value(), "read_bytes:"),
          .disk_written = line_number(text.value(), "write_bytes:")};
}

std::int64_t own_bytes_by_mark(std::string_view mark) {
  const std::string entry = "MUSTER_LEASE=" + std::string(mark);
  std::int64_t sum = 0;
  for (const pid_t pid : numbers_in("/proc")) {
    if (carries(pid, entry, 0) != Carries::kYes) continue;
    const auto text = read_proc(pid, "smaps_rollup");
    if (!text.ok()) continue;
    const std::int64_t own =
        line_number(text.value(), "Pss_Anon:") + line_number(text.value(), "Pss_Shmem:");
    sum += (own > 0 ? own : line_number(text.value(), "Pss:")) * 1024;
  }
  return sum;
}

MarkKill kill_by_mark(std::string_view mark, std::int64_t since, const std::vector<pid_t>& spared) {
  const std::string entry = "MUSTER_LEASE=" + std::string(mark);
  MarkKill result;
  for (const pid_t pid : numbers_in("/proc")) {
    if (std::find(spared.begin(), spared.end(), pid) != spared.end()) continue;
    const Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!fd.open()) continue;
    const Carries found = carries(pid, entry, since);
    if (found == Carries::kUnsure) ++result.unsure;
    if (found != Carries::kYes) continue;
    if (::syscall(SYS_pidfd_send_signal, fd.get(), SIGKILL, nullptr, 0) == 0) ++result.killed;
  }
  return result;
}

}  // namespace muster
