#include "api/client/manager_address.h"

#include <sys/stat.h>
#include <sys/un.h>

#include <cstdlib>
#include <fstream>

#include "base/text/text.h"

namespace muster {
namespace {

std::string value_of(const Environment& env, const char* name) {
  const char* value = env(name);
  return value == nullptr ? "" : value;
}

Result<ManagerAddress> socket_at(std::string path) {
  constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (path.size() > kLongest) {
    return Error{
        "socket path longer than " + std::to_string(kLongest) + " bytes: " + in_quotes(path),
        ErrorCode::kNotFound};
  }
  ManagerAddress where;
  where.socket = std::move(path);
  return where;
}

// Parses "host:port" or "[::1]:8080"; the port is optional.
Result<ManagerAddress> tcp_at(std::string_view address, bool tls, std::string_view whole) {
  if (address.ends_with('/')) address.remove_suffix(1);
  const Error bad{"not http://HOST:PORT or https://HOST:PORT: " + in_quotes(whole)};
  if (address.find_first_of("/?#@ ") != std::string_view::npos) return bad;
  ManagerAddress where;
  where.tls = tls;
  where.port = tls ? "443" : "80";
  const std::size_t host_end = address.starts_with('[') ? address.find(']') : 0;
  if (host_end == std::string_view::npos) return bad;
  const std::size_t colon = address.find(':', host_end);
  where.host = address.substr(0, colon);
  if (host_end > 0) {
    if (address.substr(host_end + 1, 1) != "" && colon != host_end + 1) return bad;
    where.host = address.substr(1, host_end - 1);
  }
  if (colon != std::string_view::npos) {
    const Result<std::int64_t> port = parse_int(address.substr(colon + 1));
    if (!port.ok() || port.value() < 1 || port.value() > 65535) return bad;
    where.port = std::to_string(port.value());
  }
  if (where.host.empty()) return bad;
  return where;
}

Result<ManagerAddress> parse_server(const std::string& server) {
  const std::string_view text = server;
  if (text.starts_with("http://")) return tcp_at(text.substr(7), false, text);
  if (text.starts_with("https://")) return tcp_at(text.substr(8), true, text);
  if (text.starts_with("unix:")) return socket_at(server.substr(5));
  if (text.find('/') != std::string_view::npos && text.find("://") == std::string_view::npos) {
    return socket_at(server);
  }
  return Error{"must be a socket path or http(s)://HOST:PORT, not " + in_quotes(text),
               ErrorCode::kNotFound};
}

Result<std::string> read_token(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return std::string();  // The manager reports its absence.
  if ((info.st_mode & 077U) != 0) {
    return Error{path + ": other users can read this token; run 'chmod 600' on it",
                 ErrorCode::kForbidden};
  }
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return Error{path + ": unreadable or empty", ErrorCode::kNotFound};
  return std::string(trim(line));
}

Result<std::string> token_for(const Environment& env) {
  std::string token = value_of(env, "MUSTER_TOKEN");
  if (token.empty()) {
    const Result<std::string> home = manager_home(env);
    if (!home.ok()) return std::string();
    const Result<std::string> kept = read_token(home.value() + "/token");
    if (!kept.ok()) return kept.error();
    token = kept.value();
  }
  for (const char c : token) {
    if (c <= ' ' || c > '~')
      return Error{"the token contains an invalid character", ErrorCode::kUnauthenticated};
  }
  return token;
}

}  // namespace

std::string ManagerAddress::authority() const {
  if (!socket.empty()) return "localhost";
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + port;
}

std::string ManagerAddress::text() const {
  return socket.empty() ? (tls ? "https://" : "http://") + authority() : socket;
}

Environment process_environment() {
  return [](const char* name) { return std::getenv(name); };
}

Result<std::string> manager_home(const Environment& env) {
  if (const std::string home = value_of(env, "MUSTER_HOME"); !home.empty()) return home;
  if (const std::string state = value_of(env, "XDG_STATE_HOME"); !state.empty()) {
    return state + "/muster";
  }
  if (const std::string home = value_of(env, "HOME"); !home.empty()) {
    return home + "/.local/state/muster";
  }
  return Error{"HOME is not set; use --server to specify the manager's address",
               ErrorCode::kNotFound};
}

Result<ManagerAddress> find_manager(const std::string& server, const Environment& env) {
  const std::string said = server.empty() ? value_of(env, "MUSTER_SERVER") : server;
  if (said.empty()) {
    const Result<std::string> home = manager_home(env);
    if (!home.ok()) return home.error();
    return socket_at(home.value() + "/muster.sock");
  }
  Result<ManagerAddress> where = parse_server(said);
  if (!where.ok())
    return Error{(server.empty() ? "MUSTER_SERVER: " : "--server: ") + where.error().message,
                 ErrorCode::kNotFound};
  if (!where.value().socket.empty()) return where;
  Result<std::string> token = token_for(env);
  if (!token.ok()) return token.error();
  where.value().token = std::move(token).value();
  where.value().ca_file = value_of(env, "MUSTER_CA");
  return where;
}

}  // namespace muster
