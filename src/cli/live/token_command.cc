// muster token: creates a token that gives a user access to the manager over TCP. It prints the
// token once and stores only its fingerprint in the token file. The manager reloads the file.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ostream>

#include "api/server/tokens.h"
#include "base/os/files.h"
#include "cli/live/live_session.h"
#include "cli/live/live_verbs.h"
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

// Appends a line with one write. The file must be a valid token file, or not exist yet.
MaybeError append_line(const std::string& path, std::string line) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0) {
    const Result<TokenFile> file = TokenFile::open(path);
    if (!file.ok()) return file.error();
  } else if (errno != ENOENT) {
    return system_error(path, errno);
  }
  const Fd fd(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.open() || ::fstat(fd.get(), &facts) != 0) return system_error(path, errno);
  char last = '\n';
  if (facts.st_size > 0 && ::pread(fd.get(), &last, 1, facts.st_size - 1) != 1) {
    return system_error(path, errno);
  }
  if (last != '\n') line.insert(0, 1, '\n');
  if (::write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      ::fsync(fd.get()) != 0) {
    return system_error(path, errno);
  }
  return std::nullopt;
}

}  // namespace

int run_token(const LiveOptions& options, Streams streams) {
  const TokenOptions& wanted = options.token;
  const std::string& user = options.names.front();
  const Result<std::string> path = token_file(wanted);
  if (!path.ok()) return complain(streams, path.error());
  const Result<std::string> token = make_token();
  if (!token.ok()) return complain(streams, token.error());
  const Result<std::string> line = token_line(token.value(), {user, wanted.is_operator},
                                              wanted.name.empty() ? user : wanted.name);
  if (!line.ok()) return complain(streams, line.error());
  if (const MaybeError refusal = append_line(path.value(), line.value())) {
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
  return kExitDone;
}

}  // namespace muster
