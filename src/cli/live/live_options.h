#pragma once

// Options of the commands for the live manager: `queue`, `status`, `submit` and so on.
// live_options.cc declares them on the command line. Each command is a function of these plain
// values, declared in live_verbs.h.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types/time.h"
#include "cli/common/command.h"
#include "cli/common/parser.h"

namespace muster {

struct QueueOptions {
  std::string user, tenant;
  std::string array;  // Id of an array: list only its jobs. Empty: list all.
  std::string state = "active";
  bool mine = false;
  bool all = false;
  std::uint64_t limit = 100;  // 0: no limit.
};

struct LogsOptions {
  std::optional<std::uint32_t> lease;
  std::uint32_t node = 0;
  std::optional<std::uint32_t> rank;
  std::optional<std::uint64_t> tail;  // Print only this many last lines or events.
  bool follow = false;
};

// An option that sets a field of the job request, with its value as typed.
struct SubmitField {
  std::string flag;
  std::string field;
  std::string text;
};

struct SubmitOptions {
  std::vector<SubmitField> fields;
  std::vector<std::string> env;
  std::string key;
  bool wait = false;
  bool follow = false;
  bool dry_run = false;
  bool plan = false;
  std::vector<std::string> tries;  // For `plan`: "gpus=4,priority=2".
  std::vector<std::string> words;  // A file and its arguments, or a command.
  bool command = false;            // `words` is a command.
};

struct DrainOptions {  // At most one is set.
  std::optional<Duration> lasts;
  std::optional<std::int64_t> until;  // Seconds since 1970.
};

struct TokenOptions {
  std::string name, file;
  bool is_operator = false;
};

struct AuditOptions {
  std::string user, verb;
  std::optional<std::uint64_t> job;
  std::optional<std::int64_t> since;  // Seconds since 1970.
  std::uint64_t limit = 100;
  bool all = false;  // For `logout`.
};

struct ProfileOptions {  // In addition to SubmitOptions.
  std::string most_cpus, dataset, dataset_size;
  std::uint64_t epoch_steps = 0;
  Duration budget = Duration::seconds(50);
  std::string out;
  bool alone = false;
  bool list = false;
};

struct LiveOptions {
  std::string server;
  bool json = false;
  bool verbose = false;
  bool show_env = false;           // For `status`.
  std::vector<std::string> names;  // Names of jobs or nodes, or one user name.
  QueueOptions queue;
  LogsOptions logs;
  std::optional<Duration> timeout;  // For `wait`.
  SubmitOptions submit;
  DrainOptions drain;
  TokenOptions token;
  AuditOptions audit;
  ProfileOptions profile;
};

class LiveCommands {
 public:
  void add_to(Command app);
  // Stores the arguments that follow the options of `submit`, `plan` or `profile`: a file or a
  // command. Returns the arguments before them, which the parser reads.
  std::vector<std::string> keep_tail(std::span<const std::string> words);
  bool chosen() const { return run_ != nullptr; }
  int run(Streams streams) const { return run_(options_, streams); }

 private:
  using Run = int (*)(const LiveOptions&, Streams);
  Command verb(Command app, const char* name, const char* what, const char* example, Run act);
  void jobs_verb(Command app, const char* name, const char* what, const char* example, Run act);
  Command nodes_verb(Command app, const char* name, const char* what, const char* example, Run act);
  void add_queue(Command app);
  void add_request(Command command);
  void add_submit(Command app);
  void add_plan(Command app);
  void add_followers(Command app);  // logs, events, wait
  // Adds a command without --server and --json.
  Command plain_verb(Command app, const char* name, const char* what, const char* example, Run act);
  // Adds a command without --json.
  Command text_verb(Command app, const char* name, const char* what, const char* example, Run act);
  void add_drain(Command app);
  void add_token(Command app);
  void add_audit(Command app);
  void add_profile(Command app);

  LiveOptions options_;
  Run run_ = nullptr;
};

}  // namespace muster
