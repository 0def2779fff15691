// muster token: creates, lists and revokes tokens, which give users access to the manager over TCP.
// It prints a new token once and stores only its fingerprint in the token file. The manager reloads
// the file.

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <ostream>

#include "api/server/token_edit.h"
#include "api/server/tokens.h"
#include "base/os/account.h"
#include "base/terminal/table_columns.h"
#include "cli/live/answer_text.h"
#include "cli/live/live_session.h"
#include "cli/live/live_verbs.h"
#include "live/access/manager_mode.h"
#include "live/config/state_directory.h"

namespace muster {
namespace {

Result<std::string> token_file(const TokenOptions& options) {
  if (!options.file.empty()) return options.file;
  Result<std::string> home = default_home();
  if (!home.ok()) return home;
  // Tokens must be created before a manager that requires them can start.
  if (const Result<Instance> made = open_instance(home.value()); !made.ok()) return made.error();
  return home.value() + "/tokens";
}

// Whether the manager of the default state directory last ran only for another user.
bool refuses_tokens_of(const std::string& user) {
  const Result<std::string> home = default_home();
  if (!home.ok()) return false;
  const Result<Instance> instance = open_instance(home.value());
  const Result<Account> own = find_account(::geteuid());
  return instance.ok() && instance.value().mode == name_of(ManagerMode::kPersonal) && own.ok() &&
         !is_same_account(user, own.value().name);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

const char* role_of(const TokenFacts& token) { return token.is_operator ? "operator" : "user"; }

nlohmann::json token_json(const TokenFacts& token) {
  nlohmann::json view = {{"fingerprint", token.fingerprint},
                         {"user", token.user},
                         {"role", role_of(token)},
                         {"name", token.name}};
  if (!token.created.empty()) view["created"] = token.created;
  return view;
}

std::string tokens_text(const std::vector<TokenFacts>& tokens) {
  if (tokens.empty()) return "no tokens; create one with: muster token USER\n";
  Table table({left("NAME"), left("USER"), left("ROLE"), left("CREATED"), left("FINGERPRINT")});
  for (const TokenFacts& token : tokens) {
    table.add_row({token.name, token.user, role_of(token),
                   token.created.empty() ? "-" : token.created, token.fingerprint});
  }
  return table.render(color_mode_for(1), output_width());
}

}  // namespace

int run_token(const LiveOptions& options, Streams streams) {
  const TokenOptions& wanted = options.token;
  if (options.names.empty()) {
    return complain(streams,
                    Error{"USER is required; or use 'list' or 'revoke'", ErrorCode::kInvalid});
  }
  const std::string& user = options.names.front();
  const Result<std::string> path = token_file(wanted);
  if (!path.ok()) return complain(streams, path.error());
  const Result<std::string> token = make_token();
  if (!token.ok()) return complain(streams, token.error());
  const Result<std::string> line =
      token_line(token.value(), {.user = user,
                                 .name = wanted.name.empty() ? user : wanted.name,
                                 .is_operator = wanted.is_operator,
                                 .created = utc_now()});
  if (!line.ok()) return complain(streams, line.error());
  if (const MaybeError refusal = add_token(path.value(), line.value())) {
    return complain(streams, *refusal);
  }
  if (options.json) {
    streams.out << json_line({{"token", token.value()},
                              {"user", user},
                              {"role", wanted.is_operator ? "operator" : "user"},
                              {"file", path.value()}})
                << std::endl;
    return kExitDone;
  }
  streams.out << token.value() << std::endl;
  streams.err << "added to " << path.value() << "; the token is not shown again\n";
  if (wanted.file.empty() && refuses_tokens_of(user)) {
    streams.err << "note: the manager runs in personal mode and refuses tokens of other users "
                   "(docs/how-to/operate.md)\n";
  }
  return kExitDone;
}

int run_token_list(const LiveOptions& options, Streams streams) {
  const Result<std::string> path = token_file(options.token);
  if (!path.ok()) return complain(streams, path.error());
  const bool is_missing = ::access(path.value().c_str(), F_OK) != 0 && errno == ENOENT;
  std::vector<TokenFacts> tokens;
  if (!is_missing || !options.token.file.empty()) {
    const Result<TokenFile> file = TokenFile::open(path.value());
    if (!file.ok()) return complain(streams, file.error());
    tokens = file.value().tokens();
  }
  if (!options.json) {
    streams.out << tokens_text(tokens);
    return kExitDone;
  }
  nlohmann::json list = nlohmann::json::array();
  for (const TokenFacts& token : tokens) list.push_back(token_json(token));
  streams.out << json_line({{"file", path.value()}, {"tokens", std::move(list)}}) << std::endl;
  return kExitDone;
}

int run_token_revoke(const LiveOptions& options, Streams streams) {
  const Result<std::string> path = token_file(options.token);
  if (!path.ok()) return complain(streams, path.error());
  const Result<TokenFacts> revoked = revoke_token(path.value(), options.names.front());
  if (!revoked.ok()) return complain(streams, revoked.error());
  const TokenFacts& token = revoked.value();
  if (options.json) {
    streams.out << json_line(token_json(token)) << std::endl;
  } else {
    streams.out << fmt::format("revoked: {} ({} {}, fingerprint {})\n", token.name, role_of(token),
                               token.user, token.fingerprint);
  }
  return kExitDone;
}

}  // namespace muster
