#pragma once

// The verbs that talk to the live manager, as the command line has them: `queue`, `status`,
// `submit`... Options are declared in live_options.cc; what a verb does is a function of these
// plain values, declared in live_verbs.h.

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
  std::string array;  // Only of this one.
  std::string state = "active";
  bool mine = false;
  bool all = false;
  std::uint64_t limit = 100;  // 0: no limit.
};

struct LogsOptions {
  std::optional<std::uint32_t> lease;
  std::uint32_t node = 0;
  std::optional<std::uint64_t> tail;  // Lines.
  bool follow = false;
};

// A flag that sets a field of the request, as it was written.
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
  std::vector<std::string> tries;  // Of plan: "gpus=4,priority=2".
  std::vector<std::string> words;  // A file and its arguments, or a command.
  bool command = false;            // Which of the two.
};

struct TokenOptions {
  std::string name, file;
  bool is_operator = false;
};

struct ProfileOptions {  // With what submit has.
  std::string most_cpus, dataset, dataset_size;
  std::uint64_t epoch_steps = 0;
  Duration budget = Duration::seconds(180);
  std::string out;
  bool alone = false;
  bool list = false;
};

struct LiveOptions {
  std::string server;
  bool json = false;
  bool verbose = false;
  std::vector<std::string> names;  // Of jobs, of nodes, or of a user.
  QueueOptions queue;
  LogsOptions logs;
  std::optional<Duration> timeout;  // Of wait.
  SubmitOptions submit;
  TokenOptions token;
  ProfileOptions profile;
};

class LiveCommands {
 public:
  void add_to(Command app);
  // Keeps what comes after the options of `submit`, and returns the words before it.
  std::vector<std::string> keep_tail(std::span<const std::string> words);
  bool chosen() const { return run_ != nullptr; }
  int run(Streams streams) const { return run_(options_, streams); }

 private:
  using Run = int (*)(const LiveOptions&, Streams);
  Command verb(Command app, const char* name, const char* what, const char* example, Run act);
  void jobs_verb(Command app, const char* name, const char* what, const char* example, Run act);
  void nodes_verb(Command app, const char* name, const char* what, const char* example, Run act);
  void add_queue(Command app);
  void add_request(Command command);
  void add_submit(Command app);
  void add_plan(Command app);
  void add_followers(Command app);  // logs, events, wait
  Command plain_verb(Command app, const char* name, const char* what, const char* example,
                     Run act);  // Without --server and --json.
  Command text_verb(Command app, const char* name, const char* what, const char* example,
                    Run act);  // Without --json.
  void add_token(Command app);
  void add_profile(Command app);

  LiveOptions options_;
  Run run_ = nullptr;
};

}  // namespace muster
