// What clients may not do to the server: too much, too long, too slowly, and nonsense.

#include <gtest/gtest.h>

#include <random>

#include "api/server.h"
#include "api/testing.h"

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kJob = R"({"command":["true"]})";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Time enough for a request that comes at once, also on a busy machine.
constexpr Duration kRequestTime = Duration::seconds(2);

ServerSettings quick() {
  ServerSettings settings;
  settings.limits.request_time = kRequestTime;
  settings.limits.idle_time = kRequestTime;
  return settings;
}

TEST(Limits, RefusesLargeBodiesAndGoesOnServingOthers) {
  ServerTest test;
  const std::string large(10'000'000, ' ');
  RawClient known = test.connect();
  known.send(post("/v1/jobs", large));
  EXPECT_EQ(status_of(known.read_until("\r\n\r\n")), 413);
  RawClient chunked = test.connect();
  chunked.send("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  std::string chunk(64U << 10U, ' ');
  for (int i = 0; i < 200 && chunked.send("10000\r\n" + chunk + "\r\n"); ++i) continue;
  EXPECT_EQ(status_of(chunked.read_until("\r\n\r\n")), 413);
  EXPECT_EQ(status_of(test.connect().ask(post("/v1/jobs", kJob + std::string(500'000, ' ')))), 200);
}

TEST(Limits, RefusesLargeHeads) {
  ServerTest test;
  EXPECT_EQ(
      status_of(test.connect().ask(get("/v1/nodes", "X: " + std::string(20'000, 'x') + "\r\n"))),
      431);
  RawClient endless = test.connect();
  endless.send("GET /" + std::string(1'000'000, 'x'));
  const int status = status_of(endless.read_until("\r\n\r\n"));
  EXPECT_TRUE(status == 431 || status == 400) << status;
}

TEST(Limits, AnswersNonsenseWithFourHundred) {
  ServerTest test;
  const std::string good = get("/v1/nodes");
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::string bytes;
    for (int n = 0; n < 200; ++n) bytes += static_cast<char>(random() % 256);
    RawClient client = test.connect();
    client.send(bytes + "\r\n\r\n");
    EXPECT_EQ(status_of(client.read_until("\r\n\r\n")), 400);
  }
  for (const char* wrong :
       {"GET /v1/nodes HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET /v1/nodes HTTP/9.9\r\n\r\n",
        "GET  /v1/nodes HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nContent-Length: -4\r\n\r\n",
        "GET /v1/nodes HTTP/1.1\r\nA: b\nc\x01: d\r\n\r\n"}) {
    RawClient client = test.connect();
    client.send(wrong);
    EXPECT_EQ(status_of(client.read_until("\r\n\r\n")), 400) << wrong;
  }
  EXPECT_TRUE(test.service.calls().empty());
}

TEST(Limits, CutsOffThoseWhoSendALetterAtATime) {
  ServerTest test(nullptr, quick());
  const auto start = Clock::now();
  std::vector<RawClient> slow;
  for (int i = 0; i < 20; ++i) slow.push_back(test.connect());
  const std::string request = get("/v1/nodes", "X: " + std::string(1'000, 'x') + "\r\n");
  for (std::size_t at = 0; at < request.size() - 1; ++at) {
    for (RawClient& client : slow) client.send(request.substr(at, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(status_of(test.connect().ask(get("/v1/nodes"))), 200);
    if (seconds_since(start) > kRequestTime.in_seconds() + 0.5) break;
  }
  for (RawClient& client : slow) {
    EXPECT_EQ(status_of(client.read_all()), 408);
    EXPECT_TRUE(client.ended());
  }
  EXPECT_GE(seconds_since(start), kRequestTime.in_seconds());
}

TEST(Limits, CutsOffASlowBodyAndTheSilent) {
  ServerTest test(nullptr, quick());
  const auto start = Clock::now();
  RawClient body = test.connect();
  body.send("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{");
  RawClient silent = test.connect();
  RawClient idle = test.connect();
  EXPECT_EQ(status_of(idle.ask(get("/v1/nodes"))), 200);
  EXPECT_EQ(status_of(body.read_until("\r\n\r\n")), 408);
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_TRUE(silent.ended());
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_TRUE(idle.ended());
  EXPECT_GE(seconds_since(start), kRequestTime.in_seconds());
}

TEST(Limits, DoesNotWaitForeverForTheManager) {
  ServerSettings settings;
  settings.limits.answer_time = Duration::micros(400'000);
  ServerTest test(nullptr, settings);
  test.service.hang(true);
  EXPECT_EQ(status_of(test.connect().ask(get("/v1/nodes"))), 503);
}

TEST(Limits, CutsOffAClientThatDoesNotTakeItsAnswer) {
  ServerSettings settings;
  settings.limits.write_time = Duration::micros(300'000);
  ServerTest test(
      [](const Caller&, const Call&) {
        return Answer{200, std::string(8U << 20U, 'x'), std::nullopt};
      },
      settings);
  RawClient client = test.connect();
  client.send(get("/v1/nodes"));
  EXPECT_TRUE(client.hung_up());
  EXPECT_LT(client.read_all().size(), 8U << 20U);
  EXPECT_TRUE(client.ended());
}

TEST(Limits, TurnsAwayTooManyAndTakesThemLater) {
  ServerSettings settings;
  settings.max_connections = 5;
  settings.max_per_peer = 3;
  ServerTest test(nullptr, settings);
  std::vector<RawClient> inside;
  for (int i = 0; i < 3; ++i) {
    inside.push_back(test.connect());
    EXPECT_EQ(status_of(inside.back().ask(get("/v1/nodes"))), 200);
  }
  for (int i = 0; i < 100; ++i) {
    RawClient client = test.connect();
    client.send(get("/v1/nodes"));
    const std::string answer = client.read_all();
    EXPECT_TRUE(i >= 20 || status_of(answer) == 429) << answer;
    EXPECT_TRUE(client.ended());
  }
  EXPECT_EQ(status_of(inside[0].ask(get("/v1/nodes"))), 200);
  inside.clear();
  int status = 0;
  for (int i = 0; i < 3'000 && status != 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    status = status_of(test.connect().ask(get("/v1/nodes")));
  }
  EXPECT_EQ(status, 200);
}

}  // namespace
}  // namespace muster
