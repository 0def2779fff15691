#include "exec/shim/launch.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/text/text.h"

namespace muster {
namespace {

// The step between fork and exec that failed. Sent through a pipe that exec closes on success.
enum class Stage : int { kSetup, kGroup, kDirectory, kProgram };

struct Trouble {
  Stage stage;
  int error_number;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// Prefers ids, which mean the same device behind a filter.
std::string visible_gpus(const LaunchSpec& spec) {
  std::string text;
  for (std::size_t i = 0; i < spec.gpus.size(); ++i) {
    text += i == 0 ? "" : ",";
    text += spec.gpu_uuids.empty() ? std::to_string(spec.gpus[i]) : spec.gpu_uuids[i];
  }
  return text;
}

// The following functions run in the child.

bool into_groups(const std::vector<Fd>& doors) {
  return std::all_of(doors.begin(), doors.end(),
                     [](const Fd& door) { return ::write(door.get(), "0", 1) == 1; });
}

bool set_up(int output, pid_t shim, std::int64_t data_limit) {
  // The shim may have died before PR_SET_PDEATHSIG took effect.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != shim) return false;
  ::setpgid(0, 0);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::umask(022);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (data_limit > 0) {
    const rlimit data{static_cast<rlim_t>(data_limit), RLIM_INFINITY};
    ::setrlimit(RLIMIT_DATA, &data);
  }
  const int null = ::open("/dev/null", O_RDONLY);
  if (null < 0 || ::dup2(null, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(output, 2) < 0) {
    return false;
  }
  return ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
}

[[noreturn]] void become_rank(const LaunchSpec& spec, char** argv, char** environment, int output,
                              const std::vector<Fd>& doors, int report, pid_t shim,
                              std::int64_t data_limit) {
  const auto give_up = [&](Stage stage) {
    const Trouble trouble{stage, errno};
    [[maybe_unused]] const ssize_t n = ::write(report, &trouble, sizeof trouble);
    ::_exit(127);
  };
  if (!into_groups(doors)) give_up(Stage::kGroup);
  if (!set_up(output, shim, data_limit)) give_up(Stage::kSetup);
  if (::chdir(spec.cwd.c_str()) != 0) give_up(Stage::kDirectory);
  ::environ = environment;  // execvp() must search the PATH of the job.
  ::execvp(argv[0], argv);
  give_up(Stage::kProgram);
  std::abort();
}

StartFailure words_for(const LaunchSpec& spec, Trouble trouble) {
  const std::string why = std::string(": ") + std::strerror(trouble.error_number);
  switch (trouble.stage) {
    case Stage::kSetup:
      return {trouble.error_number, "cannot set up the process" + why};
    case Stage::kGroup:
      return {trouble.error_number, "cannot enter the control group" + why};
    case Stage::kDirectory:
      return {trouble.error_number, "cannot enter the directory " + in_quotes(spec.cwd) + why};
    case Stage::kProgram:
      break;
  }
  return {trouble.error_number, "cannot run " + in_quotes(spec.argv[0]) + why};
}

}  // namespace

std::vector<std::string> rank_environment(const LaunchSpec& spec, int local_rank,
                                          const std::string& progress) {
  std::map<std::string, std::string> env;
  for (const char* name : {"PATH", "HOME", "USER", "LANG", "TZ"}) {
    if (const char* value = std::getenv(name)) env[name] = value;
  }
  env.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  if (const passwd* me = ::getpwuid(::geteuid()); me != nullptr) {  // Some launchers set neither.
    env.try_emplace("HOME", me->pw_dir);
    env.try_emplace("USER", me->pw_name);
  }
  const int ranks = local_ranks(spec);
  env["OMP_NUM_THREADS"] = std::to_string(std::max<std::int64_t>(1, spec.cpu_milli / 1000 / ranks));
  for (const auto& [name, value] : spec.env) env[name] = value;
  env["MUSTER_JOB"] = std::to_string(spec.job);
  env["MUSTER_EPOCH"] = std::to_string(spec.epoch);
  env["MUSTER_LEASE"] = mark_of(spec);
  env["MUSTER_PROGRESS"] = progress;
  env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";  // The order of NVML, to which the indices refer.
  env["CUDA_VISIBLE_DEVICES"] = visible_gpus(spec);
  if (spec.remote) {  // The launcher has chosen the devices in these variables.
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}) {
      if (const char* value = std::getenv(name)) env[name] = value;
    }
  }
  env["RANK"] = std::to_string(spec.first_rank + local_rank);
  env["LOCAL_RANK"] = std::to_string(local_rank);
  env["WORLD_SIZE"] = std::to_string(spec.world_size);
  env["LOCAL_WORLD_SIZE"] = std::to_string(ranks);
  env["NODE_RANK"] = std::to_string(spec.node_rank);
  env["MASTER_ADDR"] = spec.master_addr;
  env["MASTER_PORT"] = std::to_string(spec.master_port);
  std::vector<std::string> list;
  for (const auto& [name, value] : env) list.push_back(name + "=" + value);
  return list;
}

Launched launch_rank(const LaunchSpec& spec, const std::vector<std::string>& environment,
                     int output, const std::vector<Fd>& doors, std::int64_t data_limit) {
  const auto failed = [](const char* what) {
    return Launched{0, {errno, std::string(what) + ": " + std::strerror(errno)}};
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed("cannot create a pipe");
  const Fd in(ends[0]);
  Fd out(ends[1]);
  std::vector<char*> argv = pointers(spec.argv);
  std::vector<char*> env = pointers(environment);
  const pid_t shim = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return failed("cannot fork");
  if (pid == 0) {
    become_rank(spec, argv.data(), env.data(), output, doors, out.get(), shim, data_limit);
  }
  ::setpgid(pid, pid);  // In the parent too, so that the group exists when we return.
  out.reset();
  Trouble trouble{};
  ssize_t n = 0;
  do {
    n = ::read(in.get(), &trouble, sizeof trouble);
  } while (n < 0 && errno == EINTR);
  if (n != sizeof trouble) return Launched{pid, {}};
  ::waitpid(pid, nullptr, 0);
  return Launched{0, words_for(spec, trouble)};
}

}  // namespace muster
