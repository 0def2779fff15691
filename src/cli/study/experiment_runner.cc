#include "cli/study/experiment_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file/atomic_file.h"
#include "base/file/text_file.h"
#include "base/os/spawn.h"
#include "base/text/text.h"
#include "cli/common/command.h"

namespace muster {

namespace {

constexpr std::size_t kShownLogBytes = 300;

struct Work {
  std::string name;     // Name of its files.
  std::string command;  // With {dir} and {data}.
  bool json = false;    // Its output is a result.
};

class Runner {
 public:
  Runner(const Experiment& experiment, const RunnerOptions& options,
         const std::function<void()>& done)
      : experiment_(experiment), options_(options), done_(done) {
    dir_ = (std::filesystem::absolute(options.dir) / experiment.name).string();
  }

  Result<ExperimentResult> run() {
    result_.experiment = &experiment_;
    std::error_code ignored;
    for (const std::string& file : experiment_.needs) {
      if (std::filesystem::exists(options_.data + "/" + file, ignored)) continue;
      result_.not_run = fmt::format("{} is not in {} (--data)", file, options_.data);
      return result_;
    }
    if (const MaybeError refusal = make_directory(dir_)) return *refusal;
    result_.commands.push_back("mkdir -p $DIR/" + experiment_.name);
    for (const auto& [name, lines] : experiment_.files) {
      if (const MaybeError refusal = write(name, lines)) return *refusal;
    }
    for (const Work& work : prepared()) {
      if (const MaybeError refusal = run_all({work}, 1)) return *refusal;
      if (result_.failed) return result_;
    }
    if (const MaybeError refusal = run_all(runs(), options_.parallel)) return *refusal;
    return result_;
  }

 private:
  MaybeError write(const std::string& name, const std::vector<std::string>& lines) {
    result_.commands.push_back(fmt::format("printf '%s\\n' '{}' > $DIR/{}/{}",
                                           fmt::join(lines, "' '"), experiment_.name, name));
    return write_atomically(dir_ + "/" + name, fmt::format("{}\n", fmt::join(lines, "\n")));
  }

  std::string filled(const std::string& command) const {
    return substituted(substituted(command, "dir", dir_), "data", options_.data);
  }

  // As a shell command that does not depend on this machine.
  std::string shown(const std::string& command) const {
    return substituted(substituted(command, "dir", "$DIR/" + experiment_.name), "data", "$DATA");
  }

  std::vector<Work> prepared() const {
    std::vector<Work> works;
    for (std::size_t i = 0; i < experiment_.prepare.size(); ++i) {
      const std::string step = fmt::format("prepare-{}", i + 1);
      for (const auto& [name, command] : expanded(experiment_, step, experiment_.prepare[i])) {
        works.push_back({name, command, false});
      }
    }
    return works;
  }

  std::vector<Work> runs() const {
    std::vector<Work> works;
    for (const auto& [run, stated] : experiment_.runs) {
      for (const auto& [name, command] : expanded(experiment_, run, stated)) {
        works.push_back({name, command + " --json", true});
      }
    }
    return works;
  }

  // After a failed command, no other one starts, and result_ contains the reason.
  MaybeError run_all(const std::vector<Work>& works, int parallel) {
    std::map<pid_t, const Work*> running;
    std::size_t next = 0;
    const Work* failed = nullptr;
    MaybeError error;
    while (next < works.size() || !running.empty()) {
      while (!error && !result_.failed && next < works.size() &&
             static_cast<int>(running.size()) < parallel) {
        result_.commands.push_back("muster " + shown(works[next].command));
        const Result<pid_t> child = start(works[next]);
        if (!child.ok()) {
          error = child.error();
          break;
        }
        running[child.value()] = &works[next++];
      }
      if (running.empty()) break;
      int status = 0;
      const pid_t ended = ::waitpid(-1, &status, 0);
      if (ended < 0 && errno == EINTR) continue;
      if (ended < 0) return Error{"cannot wait for a command", ErrorCode::kSystem};
      const auto found = running.find(ended);
      if (found == running.end()) continue;
      if (!error && interrupted()) error = Error{"interrupted", ErrorCode::kInterrupted};
      // The result names the first failed command in the order of the file.
      if (!error && (failed == nullptr || found->second < failed)) {
        if (!finish(*found->second, status)) failed = found->second;
      }
      running.erase(found);
      done_();
    }
    return error;
  }

  // The child stays in this process group, so that Ctrl-C also reaches it.
  Result<pid_t> start(const Work& work) const {
    std::vector<std::string> words = {"muster"};
    for (const std::string_view word : split(work.command, ' ')) {
      if (!word.empty()) words.push_back(filled(std::string(word)));
    }
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    SpawnPlan plan;
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    ::posix_spawn_file_actions_addopen(&plan.files, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&plan.files, 1, path(work, ".json").c_str(), kFlags, 0644);
    ::posix_spawn_file_actions_addopen(&plan.files, 2, path(work, ".log").c_str(), kFlags, 0644);
    pid_t child = 0;
    const int error = ::posix_spawn(&child, "/proc/self/exe", &plan.files, &plan.attributes,
                                    argv.data(), environ);
    if (error != 0) return Error{"cannot start " + work.command, ErrorCode::kSystem};
    return child;
  }

  std::string path(const Work& work, std::string_view ending) const {
    return fmt::format("{}/{}{}", dir_, work.name, ending);
  }

  // Returns false and sets the reason in result_ if the command failed.
  bool finish(const Work& work, int status) {
    const auto fail = [&](const std::string& why) {
      const Result<std::string> log = read_text_file(path(work, ".log"));
      std::string told(log.ok() ? trim(log.value()) : "");
      told.erase(0, told.size() - std::min(told.size(), kShownLogBytes));  // The error is last.
      std::replace(told.begin(), told.end(), '\n', ' ');
      result_.failed = true;
      result_.not_run = fmt::format("muster {}: {} {}", shown(work.command), why, told);
      return false;
    };
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fail("failed.");
    if (!work.json) return true;
    const Result<std::string> text = read_text_file(path(work, ".json"));
    if (!text.ok()) return fail(text.error().message);
    nlohmann::json value = nlohmann::json::parse(text.value(), nullptr, false);
    if (value.is_discarded()) return fail("did not print JSON.");
    result_.runs[work.name] = std::move(value);
    return true;
  }

  const Experiment& experiment_;
  const RunnerOptions& options_;
  const std::function<void()>& done_;
  std::string dir_;
  ExperimentResult result_;
};

}  // namespace

std::size_t command_count(const Experiment& experiment) {
  std::size_t count = 0;
  for (const std::string& command : experiment.prepare) {
    count += expanded(experiment, "", command).size();
  }
  for (const auto& [name, command] : experiment.runs) {
    count += expanded(experiment, name, command).size();
  }
  return count;
}

Result<ExperimentResult> run_experiment(const Experiment& experiment, const RunnerOptions& options,
                                        const std::function<void()>& done) {
  std::signal(SIGCHLD, SIG_DFL);  // If the parent ignored it, waitpid() would not return children.
  return Runner(experiment, options, done).run();
}

}  // namespace muster
