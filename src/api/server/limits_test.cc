// Limits of the server: number of connections, sizes, slow clients, and invalid input.

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <random>

#include "api/server/server.h"
#include "api/server/testing.h"

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kJob = R"({"command":["true"]})";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Enough for a request that is sent immediately, also on a busy machine.
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

constexpr std::size_t kLarge = 16U << 20U;

Answer large_answer(const Caller&, const Call&) {
  return {200, std::string(kLarge, 'x'), std::nullopt};
}

// As through a slow tunnel: no pause is long, all together are.
TEST(Limits, WaitsForAClientThatIsSlowButSteady) {
  ServerSettings settings;
  settings.limits.write_time = Duration::seconds(2);
  ServerTest test(large_answer, settings);
  RawClient client = test.connect();
  const auto start = Clock::now();
  client.send(get("/v1/nodes"));
  EXPECT_EQ(status_of(client.read_until("\r\n\r\n")), 200);
  std::size_t body = 0;
  while (body < kLarge) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::size_t more = client.read_bytes(256U << 10U).size();
    if (more == 0) break;
    body += more;
  }
  EXPECT_EQ(body, kLarge);
  EXPECT_GT(seconds_since(start), settings.limits.write_time.in_seconds());
  EXPECT_EQ(status_of(client.ask(get("/healthz"))), 200) << "and the connection stays open";
}

// Slow clients keep their answers in memory for long, so the total size is limited.
TEST(Limits, LargeAnswersOverTcpAreBoundedTogether) {
  ServerSettings settings;
  settings.tcp_address = "127.0.0.1:0";
  settings.ticket_key = "";
  settings.limits.large_bytes = 2 * kLarge;
  settings.auth.others = true;
  ServerTest test(
      [](const Caller& caller, const Call& call) {
        return std::holds_alternative<ListNodes>(call) ? large_answer(caller, call)
                                                       : Answer{200, "{}", std::nullopt};
      },
      settings);
  const auto ask = [&](const char* what, const char* user = "root") {
    const std::string url = test.server->url_for(user, 3'600);
    RawClient client = RawClient::to_tcp(test.server->tcp_port());
    client.send(get(what, "Authorization: Bearer " + url.substr(url.find('=') + 1) + "\r\n"));
    return client;
  };
  std::vector<RawClient> slow;
  for (const char* user : {"root", "ann"}) {
    slow.push_back(ask("/v1/nodes", user));
    EXPECT_EQ(status_of(slow.back().read_until("\r\n\r\n")), 200);
    EXPECT_EQ(status_of(ask("/v1/nodes", user).answer()), 503) << "one user has no more than his";
  }
  EXPECT_EQ(status_of(ask("/v1/nodes", "bob").answer()), 503);
  EXPECT_EQ(status_of(ask("/v1/nodes").answer()), 503);
  EXPECT_EQ(status_of(ask("/v1/tenants").answer()), 200) << "small ones are still answered";
  RawClient local = test.connect();
  EXPECT_EQ(status_of(local.ask(get("/v1/nodes"))), 200) << "so does the socket";
  EXPECT_EQ(slow[0].read_bytes(kLarge).size(), kLarge);
  EXPECT_EQ(status_of(ask("/v1/nodes").answer()), 200);
  slow.clear();  // A client that disconnects early also releases its bytes.
  bool both = false;
  for (int i = 0; i < 3'000 && !both; ++i) {
    RawClient one = ask("/v1/nodes");
    const int first = status_of(one.read_until("\r\n\r\n"));
    RawClient other = ask("/v1/nodes", "ann");
    both = first == 200 && status_of(other.read_until("\r\n\r\n")) == 200;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(both);
}

// Sends requests until an answer no longer fits into the socket, and returns their number. That is
// the case if the server accepts no input for `patience`.
int fill(RawClient& client, int most, std::chrono::milliseconds patience) {
  const auto unread = [&] {  // Bytes that the server has not taken.
    int bytes = 0;
    EXPECT_EQ(::ioctl(client.get(), SIOCOUTQ, &bytes), 0);
    return bytes;
  };
  for (int asked = 1; asked <= most; ++asked) {
    client.send(get("/healthz"));
    for (int i = 0; i < patience.count() && unread() > 0; ++i) ::usleep(1000);
    if (unread() > 0) return asked;
  }
  return most;
}

// The answer that its request came too slowly cannot be written: the rest of the request must not
// start another one over it.
TEST(Limits, WhatComesAfterItsTimeIsOver) {
  ServerSettings settings;
  settings.limits.request_time = Duration::seconds(1);
  ServerTest test(nullptr, settings);
  RawClient first = test.connect();
  const int full = fill(first, 100'000, std::chrono::seconds(2));
  ASSERT_LT(full, 100'000);
  RawClient client = test.connect();
  ASSERT_EQ(fill(client, full - 2, std::chrono::seconds(60)), full - 2);
  const std::string request = get("/healthz");
  client.send(request.substr(0, 10));
  ::usleep(3'000'000);
  client.send(request.substr(10));
  ::usleep(300'000);
  const std::string all = client.read_all();
  int answers = 0;
  for (std::size_t at = all.find("HTTP/1.1 "); at != all.npos; at = all.find("HTTP/1.1 ", at + 1)) {
    ++answers;
  }
  EXPECT_EQ(answers, full - 1);
  EXPECT_NE(all.find("HTTP/1.1 408 "), all.npos);
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
