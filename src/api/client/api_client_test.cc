#include "api/client/api_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

namespace muster {
namespace {

// A manager of few words: each connection gets the next list of answers, one for each request, and
// is closed after the last. What was asked is kept.
class Script {
 public:
  using Answers = std::vector<std::string>;
  explicit Script(std::vector<Answers> connections)
      : path_(std::filesystem::temp_directory_path() /
              ("muster_client_" + std::to_string(getpid()) + ".sock")),
        listener_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    ::unlink(path_.c_str());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 4), 0);
    thread_ = std::thread([this, connections = std::move(connections)] {
      for (const Answers& answers : connections) serve(answers);
    });
  }
  ~Script() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    ::unlink(path_.c_str());
  }

  ManagerAddress where() const {
    ManagerAddress where;
    where.socket = path_.string();
    return where;
  }
  std::vector<std::string> asked;

 private:
  void serve(const Answers& answers) {
    const int fd = ::accept(listener_, nullptr, nullptr);
    if (fd < 0) return;
    for (const std::string& answer : answers) {
      std::string request;
      char piece[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t n = ::recv(fd, piece, sizeof piece, 0);
        if (n <= 0) break;
        request.append(piece, static_cast<std::size_t>(n));
      }
      asked.push_back(request);
      ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    ::close(fd);
  }

  std::filesystem::path path_;
  int listener_;
  std::thread thread_;
};

std::string ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nMuster-Log-Size: 5\r\n\r\n" + body;
}

const std::string kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(const std::string& text) {
  char size[16];
  std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return size + text + "\r\n";
}

TEST(ApiClient, SaysThatNobodyIsThere) {
  ManagerAddress where;
  where.socket = "/nonexistent/muster.sock";
  EXPECT_EQ(ApiClient::connect(where).error().message,
            "no manager answers at /nonexistent/muster.sock; start one with 'muster serve'");
}

TEST(ApiClient, KeepsItsConnection) {
  Script script({{ok("a"), ok("bc"), "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"}});
  Result<ApiClient> client = ApiClient::connect(script.where());
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(client.value().get("/a").value().body, "a");
  const Result<HttpReply> posted = client.value().post("/b", "{}", {{"Idempotency-Key", "k"}});
  EXPECT_EQ(posted.value().body, "bc");
  EXPECT_EQ(posted.value().headers.at("muster-log-size"), "5");
  const Result<HttpReply> missing = client.value().get("/c");
  EXPECT_EQ(missing.value().status, 404);
  EXPECT_FALSE(missing.value().ok());
  ASSERT_EQ(script.asked.size(), 3U);
  EXPECT_TRUE(script.asked[1].starts_with("POST /b HTTP/1.1\r\n"));
  EXPECT_NE(script.asked[1].find("Idempotency-Key: k\r\n"), std::string::npos);
}

TEST(ApiClient, AsksAgainOverAnotherConnectionButPostsOnce) {
  Script script({{ok("a")}, {ok("b")}, {ok("c")}});
  Result<ApiClient> client = ApiClient::connect(script.where());
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(client.value().get("/a").value().body, "a");
  EXPECT_EQ(client.value().get("/b").value().body, "b");
  const Result<HttpReply> posted = client.value().post("/c", "{}");
  EXPECT_FALSE(posted.ok());
  EXPECT_EQ(client.value().post("/c", "{}").value().body, "c");
}

TEST(ApiClient, RefusesAnAnswerWithoutEnd) {
  Script script({{"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"},
                 {"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"},
                 {"nonsense\r\n\r\n"},
                 {"nonsense\r\n\r\n"}});
  Result<ApiClient> client = ApiClient::connect(script.where());
  ASSERT_TRUE(client.ok());
  EXPECT_NE(client.value().get("/a").error().message.find("too large"), std::string::npos);
  EXPECT_FALSE(client.value().get("/a").ok());
}

TEST(ApiClient, StreamsUntilTheEnd) {
  Script script({{kStreamHead + chunk("data: on") + chunk("e\n\ndata: two\n\n") + "0\r\n\r\n"},
                 {ok("after")}});
  Result<ApiClient> client = ApiClient::connect(script.where());
  ASSERT_TRUE(client.ok());
  std::string seen;
  const auto take = [&](const SseEvent& event) { return seen += event.data + ";", true; };
  const StreamResult result = client.value().stream("/s", {{"Last-Event-ID", "3"}}, take, {});
  EXPECT_EQ(result.end, StreamEnd::kOver) << result.trouble;
  EXPECT_EQ(seen, "one;two;");
  EXPECT_NE(script.asked[0].find("Last-Event-ID: 3\r\n"), std::string::npos);
  EXPECT_EQ(client.value().get("/x").value().body, "after");
}

TEST(ApiClient, SaysHowAStreamEnded) {
  Script script({{kStreamHead + chunk("data: one\n\n")},
                 {kStreamHead + chunk("data: one\n\ndata: two\n\n")},
                 {"HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\n{}"}});
  Result<ApiClient> client = ApiClient::connect(script.where());
  ASSERT_TRUE(client.ok());
  int events = 0;
  const auto all = [&](const SseEvent&) { return ++events, true; };
  const auto first = [&](const SseEvent&) { return ++events, false; };
  EXPECT_EQ(client.value().stream("/s", {}, all, {}).end, StreamEnd::kBroken);
  EXPECT_EQ(client.value().stream("/s", {}, first, {}).end, StreamEnd::kEnough);
  EXPECT_EQ(events, 2);
  const StreamResult refused = client.value().stream("/s", {}, all, {});
  EXPECT_EQ(refused.end, StreamEnd::kRefused);
  EXPECT_EQ(refused.reply.status, 409);
}

TEST(ApiClient, StopsWhenAskedThoughNothingComes) {
  Script script({{kStreamHead + chunk("data: one\n\n"), "never asked for"}});
  Result<ApiClient> client = ApiClient::connect(script.where());
  ASSERT_TRUE(client.ok());
  int asked = 0;
  const auto all = [&](const SseEvent&) { return true; };
  const StreamResult result = client.value().stream("/s", {}, all, [&] { return ++asked > 2; });
  EXPECT_EQ(result.end, StreamEnd::kEnough);
}

}  // namespace
}  // namespace muster
