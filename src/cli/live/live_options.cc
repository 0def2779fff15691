#include "cli/live/live_options.h"

#include "api/client/where.h"
#include "base/text/text.h"
#include "cli/common/parser.h"
#include "cli/live/live_verbs.h"
#include "cli/live/submit_request.h"

namespace muster {
namespace {

constexpr const char* kGroup = "Verbs of the live manager";

constexpr const char* kSubmitExample =
    "muster submit --gpus 2 --time-limit 12h --env DATA=/data -- python train.py --epochs 90\n"
    "  muster submit --follow run.sbatch\n"
    "Flags go over what the file says. The job runs where you are, with your PATH, HOME,\n"
    "VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH and LD_LIBRARY_PATH; nothing else of your\n"
    "environment is passed, since it would be kept with the job: name it with --env.";

struct SubmitFlag {
  const char* name;
  const char* field;
  const char* type;
  const char* what;
};

constexpr SubmitFlag kSubmitFlags[] = {
    {"--name", "name", "TEXT",
     "for people (default: the first word of the command, or of its shell script)"},
    {"--gpus", "gpus", "N", "how many, given together (default: 1)"},
    {"--fewest", "fewest", "N", "an elastic job runs with so few"},
    {"--most", "most", "N", "and with so many"},
    {"--cpus", "cpus", "N", "CPUs for all of the job, at the least: 8, 0.5"},
    {"--mem", "mem", "SIZE", "memory for all of the job, at the least: 64G"},
    {"--spread", "spread", "N", "on so many servers at most"},
    {"--gpu-type", "gpu_type", "TYPE", "only GPUs of this type"},
    {"--model", "model", "NAME", "plan CPU and memory by this profile"},
    {"--tenant", "tenant", "NAME", "on whose quota (default: that of the tenant 'default')"},
    {"--priority", "priority", "N", "among your tenant's jobs, higher first"},
    {"--time-limit", "time_limit", "TIME", "end it after running so long: 90s, 30m, 12h"},
    {"--estimate", "estimate", "TIME", "how long you believe it runs"},
    {"--retries", "retries", "N", "how often to try again after a failure"},
    {"--on-lost", "on_lost", "requeue|fail",
     "what to do when its server is lost (default: requeue)"},
    {"--grace", "grace", "TIME", "between SIGTERM and SIGKILL"},
    {"--prerun", "prerun", "TIME", "try it on one GPU for so long first"},
    {"--array", "array", "RANGE", "many jobs: 0-9, 0-9:2, 0-9%3 (three at a time)"},
    {"--after-ok", "after_ok", "IDS", "start after these are done"},
    {"--after-any", "after_any", "IDS", "start after these are over"},
    {"--cwd", "cwd", "DIR", "where it runs (default: here)"},
    {"--launch-per", "launch_per", "node|gpu", "start the command once for each"},
};
constexpr std::string_view kFlagsAlone[] = {"--hold",    "--wait",  "-f",     "--follow",
                                            "--dry-run", "--json",  "--help", "-h",
                                            "--plan",    "--alone", "--list"};

std::string refuse_server(const std::string& text) {
  const Result<Where> where = find_manager(text, [](const char*) { return nullptr; });
  return where.ok() ? "" : where.error().message;
}

std::string refuse_duration(const std::string& text) {
  const Result<Duration> time = parse_duration(text);
  return time.ok() ? "" : time.error().message;
}

}  // namespace

Command LiveCommands::plain_verb(Command app, const char* name, const char* what,
                                 const char* example, Run act) {
  const Command command = app.add_subcommand(name, what);
  command.group(kGroup);
  command.footer(std::string("Example:\n  ") + example);
  command.callback([this, act] { run_ = act; });
  return command;
}

Command LiveCommands::text_verb(Command app, const char* name, const char* what,
                                const char* example, Run act) {
  const Command command = plain_verb(app, name, what, example, act);
  command
      .add_option("--server", options_.server,
                  "the manager: the path of its socket or http(s)://HOST:PORT; else\n"
                  "$MUSTER_SERVER, else muster.sock in $MUSTER_HOME")
      .type_name("WHERE")
      .check(refuse_server);
  return command;
}

Command LiveCommands::verb(Command app, const char* name, const char* what, const char* example,
                           Run act) {
  const Command command = text_verb(app, name, what, example, act);
  command.add_flag("--json", options_.json, "print the manager's JSON instead of text");
  return command;
}

void LiveCommands::jobs_verb(Command app, const char* name, const char* what, const char* example,
                             Run act) {
  const Command command = verb(app, name, what, example, act);
  command
      .add_option("jobs", options_.names,
                  "whole ids of jobs; of an array, 12_3 is one and '12_*' all of it")
      .type_name("ID")
      .required();
}

void LiveCommands::nodes_verb(Command app, const char* name, const char* what, const char* example,
                              Run act) {
  const Command command = verb(app, name, what, example, act);
  command.add_option("nodes", options_.names, "names of nodes").type_name("NODE").required();
}

void LiveCommands::add_queue(Command app) {
  const Command command =
      verb(app, "queue", "list jobs: those that run, then those that wait, in order",
           "muster queue --mine\n"
           "TIME is how long a job has run, or waited if it waits.",
           run_queue);
  QueueOptions& queue = options_.queue;
  const Option mine = command.add_flag("--mine", queue.mine, "only yours");
  command.add_option("--user", queue.user, "only this user's").excludes(mine);
  command.add_option("--tenant", queue.tenant, "only this tenant's");
  const Option state =
      command.add_option("--state", queue.state, "one state, 'active', 'ended' or 'all'");
  state.capture_default_str();
  command.add_flag("--all", queue.all, "ended jobs too").excludes(state);
  command.add_option("--limit", queue.limit, "at most so many; 0: all")
      .capture_default_str()
      .check_not_negative();
  command.add_option("array", options_.names, "only the jobs of this array, as 12_*")
      .type_name("ARRAY")
      .expected(0, 1);
}

// Of submit and plan: what is asked for.
void LiveCommands::add_request(Command command) {
  SubmitOptions& submit = options_.submit;
  for (const SubmitFlag& flag : kSubmitFlags) {
    const SubmitField field{flag.name, flag.field, ""};
    command
        .add_option_function(
            flag.name,
            [&submit, field](const std::string& text) {
              submit.fields.push_back({field.flag, field.field, text});
            },
            flag.what)
        .type_name(flag.type);
  }
  command.add_flag_callback(
      "--hold",
      [&submit] {
        submit.fields.push_back({"--hold", "hold", "true"});
      },
      "do not start it before it is released");
  command.add_option("--env", submit.env, "a variable for the job; NAME alone passes yours")
      .type_name("NAME=VALUE")
      .allow_extra_args(false);
}

void LiveCommands::add_submit(Command app) {
  const Command command =
      verb(app, "submit", "submit a job: JOB.yaml, SCRIPT [ARGUMENTS], or -- COMMAND...",
           kSubmitExample, run_submit);
  add_request(command);
  SubmitOptions& submit = options_.submit;
  command.add_option("--key", submit.key, "the same key twice is one job");
  command.add_flag("--wait", submit.wait, "wait until it is over; status 0 if it is done");
  command.add_flag("-f,--follow", submit.follow, "print its output meanwhile");
  command.add_flag("--dry-run", submit.dry_run, "print the request as JSON and do no more");
  command.add_flag("--plan", submit.plan, "say what would happen, and do no more: muster plan");
}

void LiveCommands::add_plan(Command app) {
  const Command command =
      verb(app, "plan", "say what would become of a job, without submitting it",
           "muster plan --gpus 8 --try gpus=4 --try gpus=8,spread=2 -- python "
           "train.py\n"
           "Exit status: 0 it would start now, 3 it would wait, 4 it can never run; "
           "of the job as\ngiven, whatever is tried beside it.",
           run_plan);
  add_request(command);
  command.add_option("--try", options_.submit.tries, "the same with other fields")
      .type_name("FIELD=VALUE,...")
      .allow_extra_args(false);
}

std::vector<std::string> LiveCommands::keep_tail(std::span<const std::string> words) {
  if (words.empty() ||
      (words.front() != "submit" && words.front() != "plan" && words.front() != "profile"))
    return {words.begin(), words.end()};
  SubmitWords parted = part_words(words, kFlagsAlone);
  options_.submit.words = std::move(parted.tail);
  options_.submit.command = parted.command;
  return std::move(parted.options);
}

void LiveCommands::add_followers(Command app) {
  LogsOptions& logs = options_.logs;
  const Command output = verb(app, "logs", "print what a job has printed",
                              "muster logs -f --tail 20 12\n"
                              "With --json each piece of it is an object on a line of its own.",
                              run_logs);
  output.add_option("job", options_.names, "its id, or the first digits")
      .type_name("ID")
      .expected(1)
      .required();
  output.add_flag("-f,--follow", logs.follow, "go on until the job is over, or Ctrl-C");
  output.add_option("--lease", logs.lease, "of this lease, from 1 (default: the latest)");
  output.add_option("--node", logs.node, "of this one of its servers, from 0");
  output.add_option("--tail", logs.tail, "only the last so many lines").type_name("LINES");

  const Command events = verb(app, "events", "print what has happened",
                              "muster events -f 12\n"
                              "With --json each event is an object on a line of its own.",
                              run_events);
  const Option about =
      events.add_option("job", options_.names, "only about this job").type_name("ID");
  about.expected(0, 1);
  events.add_option("--job", options_.names, "the same")
      .type_name("ID")
      .expected(1)
      .excludes(about);
  events.add_flag("-f,--follow", logs.follow, "and what happens, until Ctrl-C");
  events.add_option("--tail", logs.tail, "only the last so many").type_name("EVENTS");

  const Command wait =
      verb(app, "wait", "wait until jobs are over",
           "muster wait --timeout 30m 12 13\n"
           "Exit status: 0 if all are done, 1 if one is not, 124 if the time was up.",
           run_wait);
  wait.add_option("jobs", options_.names,
                  "ids of jobs, or their first digits; '12_*' is a whole array")
      .type_name("ID")
      .required();
  wait.add_option_function(
          "--timeout",
          [this](const std::string& text) { options_.timeout = parse_duration(text).value(); },
          "for so long at most: 30s, 5m, 2h")
      .type_name("TIME")
      .check(refuse_duration);
}

void LiveCommands::add_token(Command app) {
  const Command command =
      plain_verb(app, "token", "let a user call the manager by TCP",
                 "muster token ann > ann.token\n"
                 "Prints the token, which goes into the user's $MUSTER_TOKEN. To take "
                 "it back, take its\nline out of the file.",
                 run_token);
  TokenOptions& token = options_.token;
  command.add_flag("--json", options_.json, "print it as a JSON object");
  command.add_option("user", options_.names, "whose jobs it may submit and see")
      .type_name("USER")
      .expected(1)
      .required();
  command.add_flag("--operator", token.is_operator, "everybody's jobs, and servers too");
  command.add_option("--name", token.name, "what it is for, for people (default: the user)")
      .type_name("TEXT");
  command.add_option("--file", token.file, "the token file (default: tokens in $MUSTER_HOME)")
      .type_name("FILE");
}

void LiveCommands::add_profile(Command app) {
  const Command command = verb(
      app, "profile", "measure how a job's speed depends on CPU and memory",
      "muster profile --dataset /data/images job.yaml\n"
      "  muster profile --gpus 1 -- python3 train.py\n"
      "Runs the job on this machine, for a minute or so, under a few limits of CPU; it must\n"
      "report its steps (docs/live.md). What it writes, it writes for real. The curve goes to\n"
      "NAME.profile.yaml, which the simulator reads too, and NAME.profile.svg; a manager that\n"
      "runs here goes by it from then on. Exit status: 1 if nothing could be measured.",
      run_profile);
  add_request(command);
  ProfileOptions& profile = options_.profile;
  command.add_option("--most-cpus", profile.most_cpus, "measure up to so many (default: all)")
      .type_name("N");
  const Option dataset =
      command.add_option("--dataset", profile.dataset, "what it trains on: memory is then modelled")
          .type_name("PATH");
  command.add_option("--dataset-size", profile.dataset_size, "its size, if it is not here: 140G")
      .type_name("SIZE")
      .excludes(dataset);
  command.add_option("--epoch-steps", profile.epoch_steps, "steps of one pass over the data")
      .type_name("N");
  command
      .add_option_function(
          "--budget",
          [&profile](const std::string& text) { profile.budget = parse_duration(text).value(); },
          "of running time, all points together (default: 3m)")
      .type_name("TIME")
      .check(refuse_duration);
  command.add_option("-o,--out", profile.out, "the profile (default: NAME.profile.yaml)")
      .type_name("FILE");
  command.add_flag("--alone", profile.alone, "do not tell the manager");
  command.add_flag("--list", profile.list, "list what the manager has found out, and do no more");
}

void LiveCommands::add_to(Command app) {
  add_submit(app);
  add_plan(app);
  add_profile(app);
  add_queue(app);
  add_followers(app);
  const Command status =
      verb(app, "status", "show one job: request, leases, progress, why it waits",
           "muster status 12", run_status);
  status.add_option("job", options_.names, "its id, or the first digits; '12_*' lists an array")
      .type_name("ID")
      .expected(1)
      .required();
  const Command why = verb(app, "why", "say why a job waits, when it will start and what is sooner",
                           "muster why 12\n"
                           "Every way to start sooner was tried on a copy of the scheduler.",
                           run_why);
  const Command eta = verb(app, "eta", "say when a job will start", "muster eta 12", run_eta);
  why.add_flag("-v,--verbose", options_.verbose, "with the numbers behind it");
  for (const Command each : {why, eta}) {
    each.add_option("job", options_.names, "its id, or the first digits")
        .type_name("ID")
        .expected(1)
        .required();
  }
  verb(app, "nodes", "list servers, what is used and what they have", "muster nodes", run_nodes);
  verb(app, "tenants", "list tenants, their quotas and use", "muster tenants", run_tenants);
  verb(app, "top", "watch servers, running jobs and the queue",
       "muster top\n"
       "Keys: arrows, page up and down, home and end scroll; q quits. Without a terminal\n"
       "or with --json it prints what it would show, once.",
       run_top);
  jobs_verb(app, "cancel", "end jobs", "muster cancel 12 13 '20_*'", run_cancel);
  jobs_verb(app, "hold", "stop jobs that run, keep those that wait from starting", "muster hold 12",
            run_hold);
  jobs_verb(app, "release", "let held jobs start again", "muster release 12", run_release);
  verb(app, "retry", "submit jobs that are over again, as new jobs", "muster retry 12 20_3",
       run_retry)
      .add_option("jobs", options_.names, "whole ids of jobs; of an array, 12_3 is one")
      .type_name("ID")
      .required();
  nodes_verb(app, "drain", "close servers to new jobs (operators)", "muster drain node-1",
             run_drain);
  nodes_verb(app, "undrain", "open servers again (operators)", "muster undrain node-1",
             run_undrain);
  add_token(app);
}

}  // namespace muster
