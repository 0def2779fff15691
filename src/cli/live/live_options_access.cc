// Options of `muster token`, `audit` and `logout`.

#include <ctime>

#include "base/text/text.h"
#include "cli/live/answer_text.h"
#include "cli/live/live_options.h"
#include "cli/live/live_verbs.h"

namespace muster {
namespace {

// Parses a duration before now, or a local date with an optional time. Returns seconds since 1970.
Result<std::int64_t> parse_since(const std::string& text) {
  if (const Result<Duration> ago = parse_duration(text); ago.ok()) {
    return static_cast<std::int64_t>(now_since_1970()) - ago.value().us() / 1'000'000;
  }
  std::tm time{};
  time.tm_isdst = -1;
  for (const char* form :
       {"%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d"}) {
    std::tm read = time;
    const char* const end = ::strptime(text.c_str(), form, &read);
    if (end != nullptr && *end == '\0') return static_cast<std::int64_t>(std::mktime(&read));
  }
  return Error{"not a time: " + in_quotes(text) +
               "; write 2h, 7d, 2026-11-19 or "
               "'2026-11-19 08:00:00'"};
}

std::string refuse_since(const std::string& text) {
  const Result<std::int64_t> time = parse_since(text);
  return time.ok() ? "" : time.error().message;
}

}  // namespace

void LiveCommands::add_token(Command app) {
  const Command command =
      plain_verb(app, "token", "create, list and revoke access tokens for the TCP address",
                 "muster token ann > ann.token\n"
                 "  muster token list\n"
                 "  muster token revoke laptop\n"
                 "'muster token USER' prints the token, which the user puts into\n"
                 "$MUSTER_TOKEN. The manager reads the token file again when it changes.",
                 run_token);
  TokenOptions& token = options_.token;
  // A subcommand has set run_ before.
  command.callback([this] { run_ = run_ == nullptr ? run_token : run_; });
  command.add_flag("--json", options_.json, "print the token as a JSON object");
  command.add_option("user", options_.names, "user that the token identifies")
      .type_name("USER")
      .expected(0, 1);
  command.add_flag("--operator", token.is_operator,
                   "grant operator rights: jobs of all users, and nodes");
  command.add_option("--name", token.name, "name of the token (default: the user name)")
      .type_name("TEXT");
  const auto add_file = [&](const Command& to) {
    to.add_option("--file", token.file, "token file (default: tokens in $MUSTER_HOME)")
        .type_name("FILE");
  };
  add_file(command);
  const Command list =
      command.add_subcommand("list", "list the tokens, without the tokens themselves");
  list.footer("Example:\n  muster token list --json");
  list.callback([this] { run_ = run_token_list; });
  list.add_flag("--json", options_.json, "print a JSON object");
  add_file(list);
  const Command revoke = command.add_subcommand("revoke", "make a token invalid");
  revoke.footer(
      "Example:\n  muster token revoke laptop\n"
      "The next request with the token is rejected, and streams end within seconds.");
  revoke.callback([this] { run_ = run_token_revoke; });
  revoke.add_flag("--json", options_.json, "print the revoked token as a JSON object");
  revoke.add_option("token", options_.names, "name or fingerprint, as in 'muster token list'")
      .type_name("NAME")
      .expected(1)
      .required();
  add_file(revoke);
}

void LiveCommands::add_audit(Command app) {
  AuditOptions& audit = options_.audit;
  const Command command = verb(
      app, "audit", "list changes, refusals and looks at other users' output, newest first",
      "muster audit --since 1d --user ann\n"
      "  muster audit --job 12\n"
      "Operators see all rows. Other users see rows about themselves and their jobs. Rows are\n"
      "kept for a year.",
      run_audit);
  command.add_option("--user", audit.user, "only rows of this caller");
  command.add_option("--job", audit.job, "only rows about this job or array").type_name("ID");
  command
      .add_option_function(
          "--since", [&audit](const std::string& text) { audit.since = parse_since(text).value(); },
          "only rows after this time: 2h, 7d, 2026-11-19 or '2026-11-19 08:00:00'")
      .type_name("TIME")
      .check(refuse_since);
  command.add_option("--verb", audit.verb, "only rows of this call: submitJob, cancelJob, readLog")
      .type_name("CALL");
  command.add_option("--limit", audit.limit, "maximum number of rows")
      .capture_default_str()
      .check_not_negative();
  bool& all = audit.all;
  const Command leave = verb(app, "logout", "sign out of the dashboard in all browsers",
                             "muster logout --all\n"
                             "All tickets that 'muster view' created for you become invalid.",
                             run_logout);
  leave.add_flag("--all", all, "end all sessions; required, because Muster has no list of sessions")
      .required();
}

}  // namespace muster
