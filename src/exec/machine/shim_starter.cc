#include "exec/machine/shim_starter.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "base/os/spawn.h"

namespace muster {
namespace {

// The shim gets only the variables that a job can see.
std::vector<std::string> shim_environment() {
  std::vector<std::string> list;
  for (const char* name : {"PATH", "HOME", "USER", "LANG", "TZ"}) {
    if (const char* value = std::getenv(name)) list.push_back(std::string(name) + "=" + value);
  }
  return list;
}

}  // namespace

// See SpawnPlan::set_apart().
Result<StartedShim> SpawnedShims::start(const std::string& directory, const Fd& errors) {
  SpawnPlan plan;
  ::posix_spawn_file_actions_addopen(&plan.files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&plan.files, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&plan.files, errors.get(), 2);
  plan.set_apart();

  std::vector<std::string> env = shim_environment();
  std::vector<char*> envp;
  for (std::string& entry : env) envp.push_back(entry.data());
  envp.push_back(nullptr);
  std::string argv0 = "muster-shim";
  std::string argv1 = directory;
  char* argv[] = {argv0.data(), argv1.data(), nullptr};
  StartedShim shim;
  const int error =
      ::posix_spawn(&shim.pid, program_.c_str(), &plan.files, &plan.attributes, argv, envp.data());
  if (error != 0) return system_error(program_, error);
  shim.process = Fd(static_cast<int>(::syscall(SYS_pidfd_open, shim.pid, 0)));
  if (!shim.process.open()) {  // Out of descriptors: the shim could not be watched.
    const int no_pidfd = errno;
    ::kill(shim.pid, SIGKILL);
    ::waitpid(shim.pid, nullptr, 0);
    return system_error("pidfd", no_pidfd);
  }
  shim.child = true;
  return shim;
}

}  // namespace muster
