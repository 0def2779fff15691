// Measures the latency and throughput of a real live manager with real shims:
//   live_bench MUSTER [DIRECTORY]
// starts a manager in a temporary directory and measures the time from submission to the first
// instruction of a job, durable submits per second with 64 clients, and the time of submit, queue
// and status with 10,000 queued jobs.

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/os/files.h"
#include "base/types/check.h"

extern char** environ;

namespace muster {
namespace {

double now_s() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Fd connect_to(const std::string& path) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

std::string post(const std::string& body) {
  return "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string get(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

void send_all(const Fd& fd, const std::string& text) {
  MUSTER_CHECK(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(text.size()));
}

// Appends the received bytes to `got`. Returns true when it contains a complete answer.
bool read_answer(const Fd& fd, std::string& got) {
  char bytes[65'536];
  const ssize_t count = ::recv(fd.get(), bytes, sizeof bytes, 0);
  MUSTER_CHECK(count > 0);
  got.append(bytes, static_cast<std::size_t>(count));
  const std::size_t head = got.find("\r\n\r\n");
  if (head == std::string::npos) return false;
  const std::size_t field = got.find("Content-Length: ");
  MUSTER_CHECK(field != std::string::npos && field < head);
  const std::size_t length = std::strtoul(got.c_str() + field + 16, nullptr, 10);
  return got.size() >= head + 4 + length;
}

std::string ask(const Fd& fd, const std::string& request) {
  send_all(fd, request);
  std::string got;
  while (!read_answer(fd, got)) {
  }
  return got;
}

class Daemon {
 public:
  Daemon(const std::string& muster, std::string home) : home_(std::move(home)) {
    std::vector<std::string> words = {muster, "serve", "--home", home_};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    MUSTER_CHECK(::posix_spawn(&pid_, muster.c_str(), nullptr, nullptr, argv.data(), environ) == 0);
    for (int i = 0; i < 500 && !connect_to(socket()).open(); ++i) ::usleep(10'000);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  std::string socket() const { return home_ + "/muster.sock"; }
  double cpu_s() const {
    std::ifstream in("/proc/" + std::to_string(pid_) + "/stat");
    std::string text((std::istreambuf_iterator<char>(in)), {});
    text = text.substr(text.rfind(')') + 2);
    long ticks = 0;
    std::size_t at = 0;
    for (int field = 3; field <= 15; ++field) {
      const std::size_t end = text.find(' ', at);
      if (field >= 14) ticks += std::strtol(text.c_str() + at, nullptr, 10);
      at = end + 1;
    }
    return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  std::string rss() const {
    std::ifstream in("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("VmRSS:")) return line.substr(6);
    }
    return "?";
  }

 private:
  std::string home_;
  pid_t pid_ = 0;
};

struct Spread {
  double median, p99, worst;
};

Spread spread(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100], times.back()};
}

void print(const char* what, const Spread& ms) {
  std::printf("%-44s median %7.2f ms, p99 %7.2f ms, worst %7.2f ms\n", what, ms.median * 1e3,
              ms.p99 * 1e3, ms.worst * 1e3);
}

void measure_starts(const Daemon& daemon, const std::string& self, const std::string& directory) {
  const Fd client = connect_to(daemon.socket());
  std::vector<double> times;
  std::vector<double> acks;
  for (int i = 0; i < 50; ++i) {
    const std::string stamp = directory + "/stamp" + std::to_string(i);
    const double sent = now_s();
    ask(client, post("{\"name\":\"start\",\"command\":[\"" + self + "\",\"--stamp\",\"" + stamp +
                     "\"],\"cwd\":\"/\"}"));
    acks.push_back(now_s() - sent);
    double first = 0;
    for (int tries = 0; tries < 2000; ++tries) {
      if (std::ifstream in(stamp); in >> first) break;
      ::usleep(1000);
    }
    MUSTER_CHECK(first > 0);
    times.push_back(first - sent);
    ::usleep(30'000);
  }
  print("submit to durable answer, one client", spread(acks));
  print("submit to the job's first instruction", spread(times));
}

// Each client sends its next request after the answer to the previous one.
void measure_submits(const Daemon& daemon, std::size_t clients, std::size_t total) {
  const std::string request =
      post(R"({"name":"train","command":["sleep","100000"],"cwd":"/","env":{"DATA":"/data"}})");
  std::vector<Fd> sockets;
  std::vector<pollfd> polls;
  std::vector<std::string> got(clients);
  for (std::size_t i = 0; i < clients; ++i) {
    sockets.push_back(connect_to(daemon.socket()));
    polls.push_back({sockets.back().get(), POLLIN, 0});
  }
  const double cpu = daemon.cpu_s();
  const double begin = now_s();
  std::size_t sent = 0;
  std::size_t answered = 0;
  for (const Fd& each : sockets) {
    send_all(each, request);
    ++sent;
  }
  while (answered < total) {
    ::poll(polls.data(), polls.size(), -1);
    for (std::size_t i = 0; i < clients; ++i) {
      if ((polls[i].revents & POLLIN) == 0 || !read_answer(sockets[i], got[i])) continue;
      MUSTER_CHECK(got[i].starts_with("HTTP/1.1 201"));
      got[i].clear();
      ++answered;
      if (sent == total) continue;
      send_all(sockets[i], request);
      ++sent;
    }
  }
  const double took = now_s() - begin;
  std::printf(
      "durable submits, %2zu clients, %zu jobs%*s %8.0f per second, %.0f us of manager CPU each\n",
      clients, total, 8, "", static_cast<double>(total) / took,
      (daemon.cpu_s() - cpu) / static_cast<double>(total) * 1e6);
}

void measure_calls(const Daemon& daemon, const char* what, const std::string& request) {
  const Fd client = connect_to(daemon.socket());
  std::vector<double> times;
  for (int i = 0; i < 100; ++i) {
    const double sent = now_s();
    ask(client, request);
    times.push_back(now_s() - sent);
  }
  print(what, spread(times));
}

int run(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--stamp") == 0) {
    const double first = now_s();
    std::ofstream(std::string(argv[2]) + ".new") << std::fixed << first << '\n';
    std::filesystem::rename(std::string(argv[2]) + ".new", argv[2]);
    return 0;
  }
  if (argc < 2) {
    std::fprintf(stderr, "usage: live_bench MUSTER [DIRECTORY]\n");
    return 2;
  }
  std::string directory = std::string(argc > 2 ? argv[2] : "/tmp") + "/muster-bench-XXXXXX";
  MUSTER_CHECK(::mkdtemp(directory.data()) != nullptr);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  {
    const Daemon daemon(argv[1], directory + "/home");
    measure_starts(daemon, self, directory);
    measure_submits(daemon, 1, 300);
    measure_submits(daemon, 64, 10'000);
    const std::string job = post(R"({"name":"one","command":["true"],"cwd":"/"})");
    measure_calls(daemon, "submit behind 10,000 queued jobs", job);
    measure_calls(daemon, "queue of 50 of them", get("/v1/jobs?state=active&limit=50"));
    measure_calls(daemon, "queue of 1,000 of them", get("/v1/jobs?state=active&limit=1000"));
    measure_calls(daemon, "status of one", get("/v1/jobs/5000"));
    std::printf("resident%*s %s\n", 36, "", daemon.rss().c_str());
  }
  std::printf("%s is kept for inspection; its shims are still running\n", directory.c_str());
  return 0;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) { return muster::run(argc, argv); }
