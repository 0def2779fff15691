#include "exec/shim/ranks.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

namespace muster {
namespace {

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

rusage ended_use() {
  rusage use{};
  ::getrusage(RUSAGE_CHILDREN, &use);
  return use;
}

}  // namespace

Launched Ranks::start(const LaunchSpec& spec, int local_rank, const std::string& progress,
                      int output, const std::vector<Fd>& doors, std::int64_t data_limit) {
  const auto environment = rank_environment(spec, local_rank, progress);
  Launched launched = launch_rank(spec, environment, output, doors, data_limit);
  if (launched.pid == 0) return launched;
  ranks_.push_back({launched.pid, spec.first_rank + local_rank, true});
  left_ = true;
  return launched;
}

std::vector<RankEnd> Ranks::reap() {
  std::vector<RankEnd> ended;
  while (true) {
    // waitpid() adds the I/O of the child to ours, so the difference is the I/O of the child.
    std::int64_t looked = 0;
    std::int64_t looked_again = 0;
    const IoUse before = own_io_use(looked);
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) {
      left_ = pid == 0 || errno != ECHILD;
      return ended;
    }
    const IoUse after = own_io_use(looked_again);
    io_.read += after.read - before.read - looked;
    io_.written += after.written - before.written;
    io_.disk_read += after.disk_read - before.disk_read;
    io_.disk_written += after.disk_written - before.disk_written;
    for (Rank& rank : ranks_) {
      if (rank.pid != pid || !rank.running) continue;
      rank.running = false;
      const bool signalled = WIFSIGNALED(status);
      ended.push_back({.rank = rank.rank,
                       .code = signalled ? 0 : WEXITSTATUS(status),
                       .signal = signalled ? WTERMSIG(status) : 0});
    }
  }
}

int Ranks::running() const {
  return static_cast<int>(
      std::count_if(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.running; }));
}

std::vector<pid_t> Ranks::all() const { return descendants(::getpid()); }

void Ranks::signal(int number) const {
  for (const Rank& rank : ranks_) {
    if (rank.running) ::kill(-rank.pid, number);
  }
}

void Ranks::signal_all_groups(const std::vector<pid_t>& tree, int number) const {
  std::set<pid_t> groups;
  for (const pid_t pid : tree) groups.insert(::getpgid(pid));
  groups.erase(-1);  // The process has ended.
  groups.erase(::getpgrp());
  for (const pid_t group : groups) ::kill(-group, number);
}

void Ranks::kill_all() const {
  signal(SIGKILL);
  for (const pid_t pid : all()) ::kill(pid, SIGKILL);
}

double Ranks::cpu_s(const TreeUse& live) const {
  const rusage ended = ended_use();
  return live.cpu_s + seconds(ended.ru_utime) + seconds(ended.ru_stime);
}

void Ranks::account(ExitReport& report) const {
  const rusage ended = ended_use();
  report.user_s = seconds(ended.ru_utime);
  report.system_s = seconds(ended.ru_stime);
  report.mem_peak_mib = std::max(report.mem_peak_mib, std::int64_t{ended.ru_maxrss} / 1024);
  report.read_bytes = io_.read;
  report.written_bytes = io_.written;
  report.disk_read_bytes = io_.disk_read;
  report.disk_written_bytes = io_.disk_written;
}

}  // namespace muster
