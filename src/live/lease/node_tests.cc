#include "live/lease/node_tests.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/os/spawn.h"
#include "base/text/text.h"

namespace muster {

namespace {

// Starts the command in its own session without open files. Returns {0, errno} on failure.
std::pair<pid_t, int> spawn(std::vector<std::string> command, const std::string& node) {
  SpawnPlan plan;
  ::posix_spawn_file_actions_addopen(&plan.files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&plan.files, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&plan.files, 2, "/dev/null", O_WRONLY, 0);
  plan.set_apart();
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string name = "MUSTER_NODE=" + node;
  std::vector<char*> env = {name.data()};
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("MUSTER_NODE=")) env.push_back(*entry);
  }
  env.push_back(nullptr);
  pid_t pid = 0;
  const int error =
      ::posix_spawnp(&pid, argv[0], &plan.files, &plan.attributes, argv.data(), env.data());
  return {error == 0 ? pid : 0, error};
}

NodeTestInput outcome(const std::string& node, const std::string& program, int status) {
  NodeTestInput input{node, WIFEXITED(status) && WEXITSTATUS(status) == 0, ""};
  if (input.ok) return input;
  input.words = WIFEXITED(status)
                    ? fmt::format("{} exited with status {}", program, WEXITSTATUS(status))
                    : fmt::format("{} was killed by signal {}", program, WTERMSIG(status));
  return input;
}

}  // namespace

NodeTests::~NodeTests() {
  for (const auto& [node, test] : running_) end(test);
}

void NodeTests::end(const Running& test) {
  ::kill(-test.pid, SIGKILL);
  ::waitpid(test.pid, nullptr, 0);
}

void NodeTests::begin(const std::string& node, const std::vector<std::string>& command) {
  if (running_.contains(node)) return;
  const auto [pid, error] = spawn(command, node);
  if (pid == 0) {
    over_.push_back(
        {node, false, "cannot run " + in_quotes(command.front()) + ": " + std::strerror(error)});
    return;
  }
  running_[node] = {pid, Clock::now() + patience_, in_quotes(command.front())};
}

std::vector<NodeTestInput> NodeTests::finished() {
  for (auto each = running_.begin(); each != running_.end();) {
    const auto& [node, test] = *each;
    siginfo_t ended{};
    if (::waitid(P_PID, static_cast<id_t>(test.pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        ended.si_pid == test.pid) {
      // Kill the processes it left behind before waitpid() frees its process id.
      ::kill(-test.pid, SIGKILL);
      int status = 0;
      ::waitpid(test.pid, &status, 0);
      over_.push_back(outcome(node, test.program, status));
    } else if (Clock::now() >= test.deadline) {
      end(test);
      over_.push_back({node, false, test.program + " timed out"});
    } else {
      ++each;
      continue;
    }
    each = running_.erase(each);
  }
  return std::exchange(over_, {});
}

}  // namespace muster
