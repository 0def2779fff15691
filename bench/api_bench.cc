// Measures the HTTP server of the live manager with a service that answers immediately: calls per
// second from N clients on the Unix socket, each waiting for its answer, and the CPU time of the
// server thread per call. The clients run in one thread on the same machine.

#include <benchmark/benchmark.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "api/server/server.h"
#include "base/os/files.h"
#include "base/types/check.h"

namespace muster {
namespace {

class QuickService final : public Service {
 public:
  void call(Caller, Call, std::function<void(Answer)> done) override {
    clockid_t clock{};
    if (!has_clock_ && pthread_getcpuclockid(pthread_self(), &clock) == 0) {
      clock_ = clock;
      has_clock_ = true;
    }
    done({201, R"({"id":12,"ids":[12],"key_seen":false})", std::nullopt});
  }
  void watch(std::function<void(Notes)>) override {}

  // CPU time of the server thread, which calls call().
  double cpu_us() const {
    timespec time{};
    MUSTER_CHECK(has_clock_ && clock_gettime(clock_, &time) == 0);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
  }

 private:
  clockid_t clock_{};
  std::atomic<bool> has_clock_ = false;
};

Fd connect_to(const std::string& path) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  MUSTER_CHECK(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

// Sends one request per client, then reads one answer per client.
void ask_all(const std::vector<Fd>& clients, const std::string& request) {
  char answer[4'096];
  for (const Fd& client : clients) {
    const auto sent = ::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL);
    MUSTER_CHECK(sent == static_cast<ssize_t>(request.size()));
  }
  for (const Fd& client : clients) {
    MUSTER_CHECK(::recv(client.get(), answer, sizeof answer, 0) > 12);
    MUSTER_CHECK(std::memcmp(answer, "HTTP/1.1 20", 11) == 0);
  }
}

void run(benchmark::State& state, const std::string& request) {
  std::string folder = (std::filesystem::temp_directory_path() / "muster-bench-XXXXXX").string();
  MUSTER_CHECK(mkdtemp(folder.data()) != nullptr);
  QuickService service;
  ServerSettings settings;
  settings.socket_path = folder + "/s";
  auto server = ApiServer::open(settings, service);
  MUSTER_CHECK(server.ok());
  std::vector<Fd> clients;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    clients.push_back(connect_to(settings.socket_path));
  }
  ask_all(clients, request);
  const double before = service.cpu_us();
  for (auto _ : state) ask_all(clients, request);
  const double spent = service.cpu_us() - before;
  const double calls = static_cast<double>(state.iterations() * state.range(0));
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["server_us_per_call"] = spent / calls;
  server.value()->stop();
  std::filesystem::remove_all(folder);
}

void BM_Submits(benchmark::State& state) {
  const std::string body =
      R"({"name":"resnet","gpus":2,"model":"resnet50","command":["python","train.py","--epochs",)"
      R"("90"],"cwd":"/home/ann/work","env":{"DATA":"/data/imagenet"},"time_limit":"12h"})";
  run(state,
      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Idempotency-Key: 0123456789abcdef\r\nContent-Length: " +
          std::to_string(body.size()) + "\r\n\r\n" + body);
}
void BM_Health(benchmark::State& state) {
  run(state, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
}
BENCHMARK(BM_Submits)->Arg(1)->Arg(64)->UseRealTime();
BENCHMARK(BM_Health)->Arg(1)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace muster
