#include "live/daemon/background.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string_view>

#include "base/os/files.h"
#include "base/text/text.h"

extern char** environ;

namespace muster {

namespace {

constexpr int kTries = 1500;
constexpr useconds_t kTryUs = 20'000;
constexpr time_t kAnswerSeconds = 1;

std::string last_line(const std::string& path) {
  std::ifstream in(path);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) last = line;
  }
  constexpr std::string_view kOurs = "muster: ";
  return last.starts_with(kOurs) ? last.substr(kOurs.size()) : last;
}

// The running manager locks this file. It contains the manager's process id.
std::string lock_file(const std::string& home) { return home + "/journal.db.lock"; }

bool is_held(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  return file.open() && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace

bool answers(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, socket.data(), socket.size());
  const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{kAnswerSeconds, 0};
  if (!fd.open() ||
      ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0 ||
      ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
      ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return false;
  }
  // The kernel also connects to a frozen or dying process, so wait for an answer. Any status
  // counts: 503 means that the disk is full, but the manager runs.
  constexpr std::string_view kQuestion =
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  constexpr std::string_view kAnswer = "HTTP/1.1 ";
  if (::send(fd.get(), kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(kQuestion.size())) {
    return false;
  }
  char answer[kAnswer.size()];
  const ssize_t got = ::recv(fd.get(), answer, sizeof answer, MSG_WAITALL);
  return got == static_cast<ssize_t>(sizeof answer) &&
         std::string_view(answer, sizeof answer) == kAnswer;
}

DaemonState daemon_state(const std::string& home, const std::string& socket, Duration patience) {
  const std::string lock = lock_file(home);
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(patience.us());
  while (is_held(lock)) {
    if (answers(socket)) return DaemonState::kServes;
    if (std::chrono::steady_clock::now() >= until) return DaemonState::kSilent;
    ::usleep(kTryUs);
  }
  return DaemonState::kFree;
}

MaybeError start_in_background(const std::vector<std::string>& words, const std::string& log,
                               const std::string& socket) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&files, 1, 2);
  ::posix_spawn_file_actions_addclosefrom_np(&files, 3);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::vector<std::string> copy = words;
  std::vector<char*> argv;
  for (std::string& word : copy) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, "/proc/self/exe", &files, &attributes, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return system_error("muster serve", error);
  for (int i = 0; i < kTries; ++i) {
    if (answers(socket)) return std::nullopt;
    if (::waitpid(pid, nullptr, WNOHANG) == pid)
      return Error{last_line(log), ErrorCode::kUnavailable};
    ::usleep(kTryUs);
  }
  return Error{"the manager does not respond; see " + log, ErrorCode::kUnavailable};
}

MaybeError end_manager(const std::string& home) {
  const std::string path = lock_file(home);
  if (!is_held(path)) return Error{"no manager is running in " + home, ErrorCode::kNotFound};
  std::ifstream in(path);
  std::string text;
  std::getline(in, text);
  const Result<std::int64_t> pid = parse_int(trim(text));
  if (!pid.ok() || pid.value() <= 1)
    return Error{path + ": does not contain a process id", ErrorCode::kCorrupt};
  if (::kill(static_cast<pid_t>(pid.value()), SIGTERM) != 0) {
    return system_error("manager " + std::to_string(pid.value()), errno);
  }
  for (int i = 0; i < kTries; ++i) {
    if (!is_held(path)) return std::nullopt;
    ::usleep(kTryUs);
  }
  return Error{"the manager is still stopping; retry later", ErrorCode::kUnavailable};
}

}  // namespace muster
