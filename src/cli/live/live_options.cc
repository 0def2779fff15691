#include "cli/live/live_options.h"

#include "api/client/manager_address.h"
#include "base/text/text.h"
#include "cli/common/parser.h"
#include "cli/live/answer_text.h"
#include "cli/live/live_verbs.h"
#include "cli/live/submit_request.h"

namespace muster {
namespace {

constexpr const char* kGroup = "Commands for the live manager";

constexpr const char* kSubmitExample =
    "muster submit --gpus 2 --time-limit 12h --env DATA=/data -- python train.py --epochs 90\n"
    "  muster submit --follow run.sbatch\n"
    "Options override the fields of the file. The job runs in the current directory with your\n"
    "PATH, HOME, VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH and LD_LIBRARY_PATH. Pass other variables\n"
    "with --env; they are stored with the job.";

struct SubmitFlag {
  const char* name;
  const char* field;
  const char* type;
  const char* what;
};

constexpr SubmitFlag kSubmitFlags[] = {
    {"--name", "name", "TEXT",
     "job name (default: the first word of the command, or of its shell script)"},
    {"--gpus", "gpus", "N", "number of GPUs, all assigned at the same time (default: 1)"},
    {"--fewest", "fewest", "N", "minimum number of GPUs for an elastic job"},
    {"--most", "most", "N", "maximum number of GPUs for an elastic job"},
    {"--cpus", "cpus", "N", "minimum number of CPUs for the whole job: 8, 0.5"},
    {"--mem", "mem", "SIZE", "minimum memory for the whole job: 64G"},
    {"--spread", "spread", "N", "maximum number of nodes"},
    {"--gpu-type", "gpu_type", "TYPE", "required GPU type"},
    {"--model", "model", "NAME", "profile from which CPU and memory are planned"},
    {"--tenant", "tenant", "NAME", "tenant whose quota the job uses (default: 'default')"},
    {"--priority", "priority", "N", "priority among your tenant's jobs; higher runs first"},
    {"--time-limit", "time_limit", "TIME", "maximum run time: 90s, 30m, 12h"},
    {"--estimate", "estimate", "TIME", "your estimate of the run time"},
    {"--retries", "retries", "N", "maximum number of retries after a failure"},
    {"--on-lost", "on_lost", "requeue|fail",
     "action when a node of the job is lost (default: requeue)"},
    {"--grace", "grace", "TIME", "time between SIGTERM and SIGKILL"},
    {"--prerun", "prerun", "TIME", "run on one GPU for this time first, to detect early failures"},
    {"--array", "array", "RANGE", "submit an array of jobs: 0-9, 0-9:2, 0-9%3 (three at a time)"},
    {"--after-ok", "after_ok", "IDS", "start after these jobs have succeeded"},
    {"--after-any", "after_any", "IDS", "start after these jobs have finished"},
    {"--cwd", "cwd", "DIR", "working directory of the job (default: the current directory)"},
    {"--launch-per", "launch_per", "node|gpu", "start the command once per node or once per GPU"},
};
constexpr std::string_view kFlagsAlone[] = {"--hold",    "--wait",  "-f",     "--follow",
                                            "--dry-run", "--json",  "--help", "-h",
                                            "--plan",    "--alone", "--list"};

std::string refuse_server(const std::string& text) {
  const Result<ManagerAddress> where = find_manager(text, [](const char*) { return nullptr; });
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
                  "address of the manager: path of its socket, or http(s)://HOST:PORT\n"
                  "(default: $MUSTER_SERVER, or muster.sock in $MUSTER_HOME)")
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
                  "full job ids; in an array, 12_3 is one job and '12_*' all jobs")
      .type_name("ID")
      .required();
}

Command LiveCommands::nodes_verb(Command app, const char* name, const char* what,
                                 const char* example, Run act) {
  const Command command = verb(app, name, what, example, act);
  command.add_option("nodes", options_.names, "node names").type_name("NODE").required();
  return command;
}

void LiveCommands::add_drain(Command app) {
  const Command command =
      nodes_verb(app, "drain", "stop placing jobs on nodes (operators only)",
                 "muster drain --for 2h node-1\n"
                 "Running jobs continue. At the end of the maintenance, the node takes jobs again.",
                 run_drain);
  DrainOptions& drain = options_.drain;
  const Option lasts = command.add_option_function(
      "--for", [&drain](const std::string& text) { drain.lasts = parse_duration(text).value(); },
      "duration of the maintenance: 90m, 2h, 1d (default: until 'muster undrain')");
  lasts.type_name("DURATION").check(refuse_duration);
  command
      .add_option_function(
          "--until",
          [&drain](const std::string& text) {
            drain.until = parse_local_time(text, now_since_1970()).value();
          },
          "end of the maintenance in local time: 18:40 or 2026-11-20T18:40")
      .type_name("TIME")
      .check([](const std::string& text) {
        const Result<std::int64_t> time = parse_local_time(text, now_since_1970());
        return time.ok() ? std::string() : time.error().message;
      })
      .excludes(lasts);
  nodes_verb(app, "undrain", "place jobs on drained nodes again (operators only)",
             "muster undrain node-1", run_undrain);
}

void LiveCommands::add_queue(Command app) {
  const Command command =
      verb(app, "queue", "list jobs: running jobs, then waiting jobs in queue order",
           "muster queue --mine\n"
           "TIME is how long a job has run; for a waiting job, how long it has waited.",
           run_queue);
  QueueOptions& queue = options_.queue;
  const Option mine = command.add_flag("--mine", queue.mine, "list only your jobs");
  command.add_option("--user", queue.user, "list only jobs of this user").excludes(mine);
  command.add_option("--tenant", queue.tenant, "list only jobs of this tenant");
  const Option state =
      command.add_option("--state", queue.state, "job state, or 'active', 'ended' or 'all'");
  state.capture_default_str();
  command.add_flag("--all", queue.all, "also list finished jobs").excludes(state);
  command.add_option("--limit", queue.limit, "maximum number of jobs to list; 0: no limit")
      .capture_default_str()
      .check_not_negative();
  command.add_option("array", options_.names, "list only jobs of this array: '12_*'")
      .type_name("ARRAY")
      .expected(0, 1);
}

// Adds the options of submit, plan and profile that describe the job.
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
      "hold the job until it is released");
  command
      .add_option("--env", submit.env,
                  "environment variable for the job; NAME without a value passes yours")
      .type_name("NAME=VALUE")
      .allow_extra_args(false);
}

void LiveCommands::add_submit(Command app) {
  const Command command =
      verb(app, "submit", "submit a job: JOB.yaml, SCRIPT [ARGUMENTS], or -- COMMAND...",
           kSubmitExample, run_submit);
  add_request(command);
  SubmitOptions& submit = options_.submit;
  command.add_option("--key", submit.key,
                     "idempotency key: a repeated submit returns the existing job");
  command.add_flag("--wait", submit.wait,
                   "wait until the job has finished; exit status 0 if it succeeded");
  command.add_flag("-f,--follow", submit.follow, "print the job's output until it has finished");
  command.add_flag("--dry-run", submit.dry_run, "only print the request as JSON");
  command.add_flag("--plan", submit.plan, "only predict what would happen, like muster plan");
}

void LiveCommands::add_plan(Command app) {
  const Command command =
      verb(app, "plan", "predict when a job would start, without submitting it",
           "muster plan --gpus 8 --try gpus=4 --try gpus=8,spread=2 -- python "
           "train.py\n"
           "Exit status: 0 the job would start now, 3 it would wait, 4 it can never run. It\n"
           "refers to the job as given, without the changes of --try.",
           run_plan);
  add_request(command);
  command
      .add_option("--try", options_.submit.tries,
                  "also predict the job with these fields changed; may be repeated")
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
  const Command output = verb(app, "logs", "print the output of a job",
                              "muster logs -f --tail 20 12\n"
                              "With --json, each piece of output is an object on a separate line.",
                              run_logs);
  output.add_option("job", options_.names, "job id, or its first digits")
      .type_name("ID")
      .expected(1)
      .required();
  output.add_flag("-f,--follow", logs.follow, "keep printing until the job has finished or Ctrl-C");
  output.add_option("--lease", logs.lease, "number of the lease, from 1 (default: all)");
  output.add_option("--rank", logs.rank,
                    "only the lines of this rank, from 0 (default: all ranks of the node)");
  output.add_option("--node", logs.node,
                    "index of the job's node, from 0 (default: 0, or the node of --rank)");
  output.add_option("--tail", logs.tail, "print only this many last lines").type_name("LINES");

  const Command events = verb(app, "events", "print the event history",
                              "muster events -f 12\n"
                              "With --json, each event is an object on a separate line.",
                              run_events);
  const Option about =
      events.add_option("job", options_.names, "print only events of this job").type_name("ID");
  about.expected(0, 1);
  events.add_option("--job", options_.names, "same as the argument")
      .type_name("ID")
      .expected(1)
      .excludes(about);
  events.add_flag("-f,--follow", logs.follow, "keep printing new events until Ctrl-C");
  events.add_option("--tail", logs.tail, "print only this many last events").type_name("EVENTS");

  const Command wait =
      verb(app, "wait", "wait until jobs have finished",
           "muster wait --timeout 30m 12 13\n"
           "Exit status: 0 if all jobs succeeded, 1 if one did not, 124 after the timeout.",
           run_wait);
  wait.add_option("jobs", options_.names, "job ids, or their first digits; '12_*' is a whole array")
      .type_name("ID")
      .required();
  wait.add_option_function(
          "--timeout",
          [this](const std::string& text) { options_.timeout = parse_duration(text).value(); },
          "maximum time to wait: 30s, 5m, 2h (default: no limit)")
      .type_name("TIME")
      .check(refuse_duration);
}

void LiveCommands::add_profile(Command app) {
  const Command command = verb(
      app, "profile", "measure how a job's speed depends on CPU and memory",
      "muster profile --dataset /data/images job.yaml\n"
      "  muster profile --gpus 1 -- python3 train.py\n"
      "Runs the job on this machine for about a minute, under a few CPU limits. The job must\n"
      "report its steps (docs/how-to/run-jobs.md), and it really writes its files. Writes the\n"
      "curve to NAME.profile.yaml, which the simulator also reads, and NAME.profile.svg. The\n"
      "manager on this machine uses it from then on. Exit status: 1 if nothing could be measured.",
      run_profile);
  add_request(command);
  ProfileOptions& profile = options_.profile;
  command
      .add_option("--most-cpus", profile.most_cpus,
                  "maximum number of CPUs to measure (default: all of this machine)")
      .type_name("N");
  const Option dataset = command
                             .add_option("--dataset", profile.dataset,
                                         "path of the training data; enables the memory model")
                             .type_name("PATH");
  command
      .add_option("--dataset-size", profile.dataset_size,
                  "size of the training data, if it is not on this machine: 140G")
      .type_name("SIZE")
      .excludes(dataset);
  command
      .add_option("--epoch-steps", profile.epoch_steps,
                  "steps per training epoch (default: as the job reports)")
      .type_name("N");
  command
      .add_option_function(
          "--budget",
          [&profile](const std::string& text) { profile.budget = parse_duration(text).value(); },
          "maximum run time of all measurements together (default: 50s)")
      .type_name("TIME")
      .check(refuse_duration);
  command.add_option("-o,--out", profile.out, "file for the profile (default: NAME.profile.yaml)")
      .type_name("FILE");
  command.add_flag("--alone", profile.alone, "do not send the profile to the manager");
  command.add_flag("--list", profile.list, "only list the profiles that the manager has learned");
}

void LiveCommands::add_to(Command app) {
  add_submit(app);
  add_plan(app);
  add_profile(app);
  add_queue(app);
  add_followers(app);
  const Command status =
      verb(app, "status", "show one job: request, leases, progress, reason for waiting",
           "muster status 12", run_status);
  status.add_option("job", options_.names, "job id, or its first digits; '12_*' lists an array")
      .type_name("ID")
      .expected(1)
      .required();
  status.add_flag("--show-env", options_.show_env,
                  "show the values of the environment variables of your own job");
  const Command why = verb(app, "why", "explain why a job waits and how it could start sooner",
                           "muster why 12\n"
                           "Muster has simulated every listed way to start sooner.",
                           run_why);
  const Command eta = verb(app, "eta", "predict when a job will start", "muster eta 12", run_eta);
  why.add_flag("-v,--verbose", options_.verbose, "also print the numbers behind the explanation");
  for (const Command each : {why, eta}) {
    each.add_option("job", options_.names, "job id, or its first digits")
        .type_name("ID")
        .expected(1)
        .required();
  }
  verb(app, "nodes", "list nodes with their used and total resources", "muster nodes", run_nodes);
  verb(app, "tenants", "list tenants with their quotas and usage", "muster tenants", run_tenants);
  verb(app, "top", "watch nodes, running jobs and the queue",
       "muster top\n"
       "Keys: arrow keys, Page Up, Page Down, Home and End scroll; q quits. Without a terminal\n"
       "or with --json, it prints the screen once.",
       run_top);
  jobs_verb(app, "cancel", "cancel jobs", "muster cancel 12 13 '20_*'", run_cancel);
  jobs_verb(app, "hold", "stop running jobs and keep waiting jobs from starting", "muster hold 12",
            run_hold);
  jobs_verb(app, "release", "release held jobs", "muster release 12", run_release);
  verb(app, "retry", "submit finished jobs again, as new jobs", "muster retry 12 20_3", run_retry)
      .add_option("jobs", options_.names, "full job ids; in an array, 12_3 is one job")
      .type_name("ID")
      .required();
  add_drain(app);
  add_token(app);
  add_audit(app);
}

}  // namespace muster
