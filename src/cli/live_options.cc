#include "cli/live_options.h"

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/live_verbs.h"
#include "client/where.h"

namespace muster {
namespace {

constexpr const char* kGroup = "Verbs of the live manager";

std::string refuse_server(const std::string& text) {
  const Result<Where> where = find_manager(text, [](const char*) { return nullptr; });
  return where.ok() ? "" : where.error().message;
}

std::string refuse_duration(const std::string& text) {
  const Result<Duration> time = parse_duration(text);
  return time.ok() ? "" : time.error().message;
}

}  // namespace

CLI::App& LiveCommands::text_verb(CLI::App& app, const char* name, const char* what,
                                  const char* example, Run act) {
  CLI::App& command = *app.add_subcommand(name, what);
  command.group(kGroup);
  command
      .add_option("--server", options_.server,
                  "the manager: the path of its socket or http(s)://HOST:PORT; else\n"
                  "$MUSTER_SERVER, else muster.sock in $MUSTER_HOME")
      ->type_name("WHERE")
      ->check(refuse_server, "");
  command.footer(std::string("Example:\n  ") + example);
  command.callback([this, act] { run_ = act; });
  return command;
}

CLI::App& LiveCommands::verb(CLI::App& app, const char* name, const char* what, const char* example,
                             Run act) {
  CLI::App& command = text_verb(app, name, what, example, act);
  command.add_flag("--json", options_.json, "print the manager's JSON instead of text");
  return command;
}

void LiveCommands::jobs_verb(CLI::App& app, const char* name, const char* what, const char* example,
                             Run act) {
  CLI::App& command = verb(app, name, what, example, act);
  command.add_option("jobs", options_.names, "ids of jobs, or their first digits")
      ->type_name("ID")
      ->required();
}

void LiveCommands::nodes_verb(CLI::App& app, const char* name, const char* what,
                              const char* example, Run act) {
  CLI::App& command = verb(app, name, what, example, act);
  command.add_option("nodes", options_.names, "names of nodes")->type_name("NODE")->required();
}

void LiveCommands::add_queue(CLI::App& app) {
  CLI::App& command =
      verb(app, "queue", "list jobs: those that run, then those that wait, in order",
           "muster queue --mine\n"
           "TIME is how long a job has run, or waited if it waits.",
           run_queue);
  QueueOptions& queue = options_.queue;
  command.add_flag("--mine", queue.mine, "only yours");
  command.add_option("--user", queue.user, "only this user's")->excludes("--mine");
  command.add_option("--tenant", queue.tenant, "only this tenant's");
  CLI::Option* const state =
      command.add_option("--state", queue.state, "one state, 'active', 'ended' or 'all'");
  state->capture_default_str();
  command.add_flag("--all", queue.all, "ended jobs too")->excludes(state);
  command.add_option("--limit", queue.limit, "at most so many; 0: all")->capture_default_str();
}

void LiveCommands::add_followers(CLI::App& app) {
  LogsOptions& logs = options_.logs;
  CLI::App& output = text_verb(app, "logs", "print what a job has printed",
                               "muster logs -f --tail 20 12", run_logs);
  output.add_option("job", options_.names, "its id, or the first digits")
      ->type_name("ID")
      ->expected(1)
      ->required();
  output.add_flag("-f,--follow", logs.follow, "go on until the job is over, or Ctrl-C");
  output.add_option("--lease", logs.lease, "of this lease, from 1 (default: the latest)");
  output.add_option("--node", logs.node, "of this one of its servers, from 0");
  output.add_option("--tail", logs.tail, "only the last so many lines")->type_name("LINES");

  CLI::App& events = verb(app, "events", "print what has happened",
                          "muster events -f 12\n"
                          "With --json each event is an object on a line of its own.",
                          run_events);
  events.add_option("job", options_.names, "only about this job")->type_name("ID")->expected(0, 1);
  events.add_flag("-f,--follow", logs.follow, "and what happens, until Ctrl-C");
  events.add_option("--tail", logs.tail, "only the last so many")->type_name("EVENTS");

  CLI::App& wait = verb(app, "wait", "wait until jobs are over",
                        "muster wait --timeout 30m 12 13\n"
                        "Exit status: 0 if all are done, 1 if one is not, 124 if the time was up.",
                        run_wait);
  wait.add_option("jobs", options_.names, "ids of jobs, or their first digits")
      ->type_name("ID")
      ->required();
  wait.add_option_function<std::string>(
          "--timeout",
          [this](const std::string& text) { options_.timeout = parse_duration(text).value(); },
          "for so long at most: 30s, 5m, 2h")
      ->type_name("TIME")
      ->check(refuse_duration, "");
}

void LiveCommands::add_to(CLI::App& app) {
  add_queue(app);
  add_followers(app);
  CLI::App& status = verb(app, "status", "show one job: request, leases, progress, why it waits",
                          "muster status 12", run_status);
  status.add_option("job", options_.names, "its id, or the first digits")
      ->type_name("ID")
      ->expected(1)
      ->required();
  verb(app, "nodes", "list servers, what they have and what is free", "muster nodes", run_nodes);
  verb(app, "tenants", "list tenants, their quotas and use", "muster tenants", run_tenants);
  jobs_verb(app, "cancel", "end jobs", "muster cancel 12 13", run_cancel);
  jobs_verb(app, "hold", "keep waiting jobs from starting", "muster hold 12", run_hold);
  jobs_verb(app, "release", "let held jobs start again", "muster release 12", run_release);
  nodes_verb(app, "drain", "close servers to new jobs (operators)", "muster drain node-1",
             run_drain);
  nodes_verb(app, "undrain", "open servers again (operators)", "muster undrain node-1",
             run_undrain);
}

}  // namespace muster
