#include "cli/live/serve_command.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

#include "base/text/error_text.h"
#include "cli/live/live_session.h"
#include "live/config/site.h"
#include "live/config/state_directory.h"
#include "live/daemon/background.h"
#include "live/daemon/daemon.h"
#include "study/page/dashboard_page.h"
#include "study/past/what_if.h"

namespace muster {

namespace {

Result<std::string> what_if(const std::string& home, const ShowWhatIf& asked,
                            const std::function<bool()>& go_on) {
  WhatIfAsk ask{asked.policy, asked.mechanism, asked.placement, std::nullopt};
  if (asked.since) ask.since_unix_us = std::llround(*asked.since * 1e6);
  const Result<Page> page = ask_what_if(home + "/journal.db", ask, go_on);
  if (!page.ok()) return page.error();
  return browser_page(page.value());
}

}  // namespace

void ServeCommand::add_to(Command app) {
  command_ = app.add_subcommand("serve", "run the live manager on this machine");
  command_
      .add_option("--config", config_,
                  "configuration file (default: config.yaml in the state directory)")
      .type_name("FILE");
  command_
      .add_option("--home", home_,
                  "state directory (default: $MUSTER_HOME, or ~/.local/state/muster)")
      .type_name("DIR");
  const Option check = command_.add_flag("--check", check_, "only check the configuration");
  command_.add_flag("--json", json_, "with --check: print the result as a JSON object")
      .needs(check);
  const Option background = command_.add_flag("--background", background_,
                                              "run in the background, without this terminal");
  command_.add_flag("--stop", stop_, "stop the running manager; running jobs continue")
      .excludes(background);
  std::string kinds;
  for (const ExecutorKind& kind : executors()) {
    kinds += fmt::format("  executor: {:<8}{}\n", kind.name, kind.doc);
  }
  command_.footer(
      "Jobs keep running when the manager is stopped (Ctrl-C, --stop) or killed; the next one\n"
      "re-adopts them.\n"
      "The configuration selects the executor, which runs the jobs:\n" +
      kinds + "Example:\n  muster serve --background\n  muster serve --config serve.yaml --check");
}

int ServeCommand::run_in_background(Streams streams, const DaemonOptions& options) const {
  Result<std::string> socket = socket_of(options);
  if (!socket.ok()) return complain(streams, socket.error());
  switch (daemon_state(options.home, socket.value())) {
    case DaemonState::kServes:
      if (has_changed_config(options)) {
        return complain(streams,
                        Error{"a manager is already running on " + socket.value() +
                                  " with another configuration; restart it to use this one: "
                                  "muster serve --stop, then repeat this command",
                              ErrorCode::kConflict});
      }
      streams.out << "a manager is already running on " << socket.value() << '\n';
      return kExitDone;
    case DaemonState::kSilent:
      return complain(
          streams,
          Error{fmt::format("a manager uses {}/journal.db but does not answer on {}; stop it "
                            "with: muster serve --stop",
                            options.home, socket.value()),
                ErrorCode::kUnavailable});
    case DaemonState::kFree:
      break;
  }
  if (const Result<Instance> home = open_instance(options.home); !home.ok()) {
    return complain(streams, home.error());
  }
  const Result<std::string> mode = mode_text(options);
  if (!mode.ok()) return complain(streams, mode.error());
  std::vector<std::string> words = {"muster", "serve", "--home", options.home};
  if (!options.config.empty()) {
    words.insert(words.end(), {"--config", std::filesystem::absolute(options.config).string()});
  }
  const std::string log = options.home + "/serve.log";
  if (const MaybeError refusal = start_in_background(words, log, socket.value())) {
    return complain(streams, *refusal);
  }
  streams.out << "serving on " << socket.value() << '\n'
              << mode.value() << "\nlog file: " << log
              << "\ndashboard: muster view\nstop it with: muster serve --stop\n";
  return kExitDone;
}

int ServeCommand::check_as_json(Streams streams, DaemonOptions options) {
  std::string said;
  options.say = [&](const std::string& words) { said = words; };
  const MaybeError refusal = run_daemon(options);
  nlohmann::json answer = {{"ok", !refusal}};
  if (refusal) {
    answer["error"] = full_text(*refusal);
  } else {
    answer["serves"] = said;
  }
  streams.out << json_line(answer) << '\n';
  return refusal ? exit_code(ErrorCode::kInvalid) : kExitDone;
}

int ServeCommand::run(Streams streams) {
  DaemonOptions options;
  options.config = config_;
  options.check_only = check_;
  options.shim = find_shim();
  if (home_.empty()) {
    const Result<std::string> home = default_home();
    if (!home.ok()) return complain(streams, home.error());
    options.home = home.value();
  } else {
    options.home = std::filesystem::absolute(home_).lexically_normal().string();
  }
  if (stop_) {
    if (const MaybeError refusal = end_manager(options.home)) {
      return complain(streams, *refusal);
    }
    streams.out << "the manager in " << options.home << " has stopped; running jobs continue\n";
    return kExitDone;
  }
  if (background_) return run_in_background(streams, options);
  std::mutex mutex;
  const auto line = [&](std::ostream& out, const std::string& words) {
    const std::lock_guard lock(mutex);
    out << fmt::format("{:%F %T} ", fmt::localtime(std::time(nullptr))) << words << std::endl;
  };
  options.say = [&](const std::string& words) { line(streams.out, words); };
  options.log = [&](const std::string& words) { line(streams.err, words); };
  options.what_if = [&](const ShowWhatIf& asked, const std::function<bool()>& go_on) {
    return what_if(options.home, asked, go_on);
  };
  if (json_) return check_as_json(streams, options);
  if (MaybeError refusal = run_daemon(options)) {
    // With --config or --check, a wrong configuration is an error in this command's input.
    refusal->code = check_ || !config_.empty() ? ErrorCode::kInvalid : ErrorCode::kSystem;
    return complain(streams, *refusal);
  }
  if (check_) streams.out << "the configuration is valid\n";
  return kExitDone;
}

}  // namespace muster
