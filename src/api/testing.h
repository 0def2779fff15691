#pragma once

// For the tests of api/ and its benchmark: a Service that answers from a thread of its own, as the
// manager does, a folder for sockets and logs, and a client that sends exactly the bytes it is
// told.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/server.h"
#include "api/service.h"

namespace muster {

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-api-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text, int mode = 0600) const {
    std::ofstream(path_ / name, std::ios::binary | std::ios::trunc) << text;
    std::filesystem::permissions(path_ / name, static_cast<std::filesystem::perms>(mode));
  }
  void append(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary | std::ios::app) << text;
  }

 private:
  std::filesystem::path path_;
};

// The name of each kind of call, for tests to compare.
inline std::string call_name(const Call& call) {
  static constexpr std::array<const char*, std::variant_size_v<Call>> kNames = {
      "SubmitJob",   "PlanJob",      "ListJobs",     "ShowJob",    "ExplainJob",  "CancelJob",
      "HoldJob",     "ReleaseJob",   "FindLog",      "ListNodes",  "DrainNode",   "UndrainNode",
      "ListTenants", "ListProfiles", "KeepProfile",  "ListEvents", "ShowHealth",  "ShowMetrics",
      "ShowMe",      "ShowTimeline", "ShowUsage",    "ListRuns",   "CompareRuns", "ShowPage",
      "ShowWhatIf",  "ShowFleet",    "ShowWholeJob", "RetryJob"};
  return kNames[call.index()];
}

class FakeService final : public Service {
 public:
  using Handler = std::function<Answer(const Caller&, const Call&)>;

  explicit FakeService(Handler handler = nullptr) : handler_(std::move(handler)) {
    thread_ = std::thread([this] { run(); });
  }
  FakeService(const FakeService&) = delete;
  FakeService& operator=(const FakeService&) = delete;
  ~FakeService() override {
    do_later([this] { over_ = true; });
    thread_.join();
  }

  void call(Caller caller, Call call, std::function<void(Answer)> done) override {
    do_later([this, caller = std::move(caller), call = std::move(call), done = std::move(done)] {
      calls_.emplace_back(caller, call_name(call));
      if (hang_) return hung_.push_back(done);
      done(handler_ ? handler_(caller, call)
                    : Answer{200, "{\"call\":\"" + call_name(call) + "\"}", std::nullopt});
    });
  }

  void watch(std::function<void(Notes)> news) override {
    const std::lock_guard lock(mutex_);
    news_ = std::move(news);
  }

  // On the service's thread, in order with its answers.
  void tell(std::vector<Note> notes) {
    do_later([this, all = std::make_shared<const std::vector<Note>>(std::move(notes))] {
      std::unique_lock lock(mutex_);
      const auto news = news_;
      lock.unlock();
      if (news) news(all);
    });
  }

  void do_later(std::function<void()> what) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(what));
    ready_.notify_one();
  }

  // On the service's thread, after all that came before; waits for it.
  void do_now(const std::function<void()>& what) {
    std::mutex mutex;
    std::condition_variable done;
    bool is_done = false;
    do_later([&] {
      what();
      const std::lock_guard lock(mutex);
      is_done = true;
      done.notify_one();
    });
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return is_done; });
  }

  void hang(bool on) {
    do_now([&] { hang_ = on; });
  }
  std::vector<std::pair<Caller, std::string>> calls() {
    std::vector<std::pair<Caller, std::string>> copy;
    do_now([&] { copy = calls_; });
    return copy;
  }

 private:
  void run() {
    while (!over_) {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, [&] { return !queue_.empty(); });
      const auto what = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      what();
    }
  }

  Handler handler_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> queue_;
  std::function<void(Notes)> news_;
  bool over_ = false;  // This and what follows: the thread's own.
  bool hang_ = false;
  std::vector<std::function<void(Answer)>> hung_;
  std::vector<std::pair<Caller, std::string>> calls_;
  std::thread thread_;
};

// Milliseconds until what takes a moment is believed not to happen: the machine may be busy with
// other things, and only a test that fails waits so long.
inline constexpr int kPatience = 60'000;

class RawClient {
 public:
  static RawClient to_unix(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    RawClient client(AF_UNIX);
    client.connected_ =
        ::connect(client.fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    return client;
  }
  static RawClient to_tcp(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    RawClient client(AF_INET);
    client.connected_ =
        ::connect(client.fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    return client;
  }

  bool connected() const { return connected_; }
  int get() const { return fd_.get(); }

  // False if the other end does not want it.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  // Until `end` has come, which stays included; what is beyond is kept. Short at the stream's end.
  std::string read_until(const std::string& end, int wait_ms = kPatience) {
    std::size_t at = kept_.find(end);
    while (at == std::string::npos && read_some(wait_ms)) at = kept_.find(end);
    return take(at == std::string::npos ? kept_.size() : at + end.size());
  }
  std::string read_bytes(std::size_t bytes) {
    while (kept_.size() < bytes && read_some(kPatience)) continue;
    return take(std::min(bytes, kept_.size()));
  }
  std::string read_all() {
    while (read_some(kPatience)) continue;
    return take(kept_.size());
  }
  bool ended() const { return ended_; }
  // Waits until the other end has closed, without reading.
  bool hung_up() const {
    pollfd gone{fd_.get(), 0, 0};
    return ::poll(&gone, 1, kPatience) == 1 && (gone.revents & POLLHUP) != 0;
  }

  // One whole answer, by its Content-Length.
  std::string answer() {
    std::string head = read_until("\r\n\r\n");
    const std::size_t at = head.find("Content-Length: ");
    if (at == std::string::npos) return head;
    return head + read_bytes(std::strtoul(head.c_str() + at + 16, nullptr, 10));
  }
  std::string ask(std::string_view bytes) {
    send(bytes);
    return answer();
  }

 private:
  explicit RawClient(int family) : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}

  std::string take(std::size_t bytes) {
    std::string taken = kept_.substr(0, bytes);
    kept_.erase(0, bytes);
    return taken;
  }
  bool read_some(int wait_ms) {
    pollfd ready{fd_.get(), POLLIN, 0};
    if (ended_ || ::poll(&ready, 1, wait_ms) <= 0) return false;
    char room[64U << 10U];
    const ssize_t n = ::recv(fd_.get(), room, sizeof room, 0);
    ended_ = n <= 0;
    if (!ended_) kept_.append(room, static_cast<std::size_t>(n));
    return !ended_;
  }

  Fd fd_;
  bool connected_ = false;
  bool ended_ = false;
  std::string kept_;
};

inline std::string get(const std::string& target, const std::string& headers = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n";
}
inline std::string post(const std::string& target, const std::string& body = "",
                        const std::string& headers = "") {
  const std::string type = body.empty() ? "" : "Content-Type: application/json\r\n";
  return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\n" + type + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
inline int status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::atoi(answer.c_str() + 9) : 0;
}
inline std::string body_of(const std::string& answer) {
  const std::size_t at = answer.find("\r\n\r\n");
  return at == std::string::npos ? "" : answer.substr(at + 4);
}

// A server on a Unix socket in a folder of its own, before a FakeService.
struct ServerTest {
  explicit ServerTest(FakeService::Handler handler = nullptr, ServerSettings settings = {})
      : service(std::move(handler)) {
    settings.socket_path = folder / "muster.sock";
    auto opened = ApiServer::open(std::move(settings), service);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    if (opened.ok()) server = std::move(opened.value());
  }
  RawClient connect() const { return RawClient::to_unix(folder / "muster.sock"); }

  Folder folder;
  FakeService service;
  std::unique_ptr<ApiServer> server;
};

// The same on TCP, with two who have tokens.
struct TcpTest {
  explicit TcpTest(ServerSettings settings = {}) {
    ann = make_token().value();
    op = make_token().value();
    folder.write("t", token_line(ann, {"ann", false}, "laptop").value() +
                          token_line(op, {"root", true}, "desk").value());
    settings.tcp_address = "127.0.0.1:0";
    settings.token_file = folder / "t";
    test = std::make_unique<ServerTest>(nullptr, std::move(settings));
  }
  RawClient connect() const { return RawClient::to_tcp(test->server->tcp_port()); }
  static std::string with(const std::string& token) {
    return "Authorization: Bearer " + token + "\r\n";
  }

  Folder folder;
  std::string ann, op;
  std::unique_ptr<ServerTest> test;
};

}  // namespace muster
