#include "api/server/server.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "api/server/testing.h"

namespace muster {
namespace {

constexpr const char* kServedJob = R"({"command":["true"]})";

TEST(Server, PassesEachCallOnAndTheAnswerBack) {
  ServerTest test;
  RawClient client = test.connect();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {post("/v1/jobs", kServedJob), "submitJob"},
      {get("/v1/jobs?state=all&user=ann&tenant=a&limit=3&offset=2"), "listJobs"},
      {get("/v1/jobs/12"), "showJob"},
      {get("/v1/jobs/12/why"), "explainJob"},
      {post("/v1/plan", kServedJob), "planJob"},
      {post("/v1/jobs/12_3/cancel"), "cancelJob"},
      {post("/v1/jobs/12/hold", "{}"), "holdJob"},
      {post("/v1/jobs/12/release"), "releaseJob"},
      {get("/v1/jobs/12/log"), "readLog"},
      {get("/v1/jobs/12/events"), "listEvents"},
      {get("/v1/events?after=7&limit=9"), "listEvents"},
      {get("/v1/nodes"), "listNodes"},
      {post("/v1/nodes/node-1/drain"), "drainNode"},
      {post("/v1/nodes/node-1/undrain"), "undrainNode"},
      {get("/v1/tenants"), "listTenants"},
      {get("/v1/profiles"), "listProfiles"},
      {get("/v1/me"), "showMe"},
      {get("/v1/fleet"), "showFleet"},
      {get("/v1/jobs/12/page"), "showJobPage"},
      {post("/v1/jobs/12/retry"), "retryJob"},
      {get("/healthz"), "showHealth"}};
  for (const auto& [request, call] : cases) {
    const std::string answer = client.ask(request);
    EXPECT_EQ(status_of(answer), 200) << request << answer;
    EXPECT_EQ(body_of(answer), "{\"call\":\"" + call + "\"}");
  }
  const auto calls = test.service.calls();
  ASSERT_EQ(calls.size(), cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(calls[i].second, cases[i].second);
    EXPECT_TRUE(calls[i].first.is_operator);
    EXPECT_FALSE(calls[i].first.user.empty());
  }
}

// A user can leave a group while its connection stays open.
TEST(Server, AConnectionLosesTheRightsOfItsUser) {
  std::atomic<bool> admits = true;
  ServerSettings settings;
  settings.limits.rights_time = Duration::micros(100'000);
  settings.auth.admit = [&](Caller& caller) -> MaybeError {
    caller.is_operator = false;
    if (admits) return std::nullopt;
    return Error{"left", ErrorCode::kForbidden};
  };
  ServerTest test(nullptr, std::move(settings));
  RawClient client = test.connect();
  EXPECT_EQ(status_of(client.ask(get("/v1/nodes"))), 200);
  admits = false;
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_EQ(status_of(client.ask(get("/v1/nodes"))), 403);
}

TEST(Server, GivesTheServicesStatusAndBody) {
  ServerTest test([](const Caller&, const Call&) {
    return Answer{409, R"({"error":"ambiguous"})", std::nullopt};
  });
  const std::string answer = test.connect().ask(get("/v1/jobs/1"));
  EXPECT_EQ(status_of(answer), 409);
  EXPECT_EQ(body_of(answer), R"({"error":"ambiguous"})");
}

TEST(Server, AnswersHeadWithoutABody) {
  ServerTest test;
  RawClient client = test.connect();
  client.send("HEAD /v1/nodes HTTP/1.1\r\nHost: x\r\n\r\n" + get("/v1/tenants"));
  EXPECT_NE(client.read_until("\r\n\r\n").find("Content-Length: 20"), std::string::npos);
  EXPECT_EQ(body_of(client.answer()), R"({"call":"listTenants"})");
}

TEST(Server, AnswersPipelinedRequestsInOrder) {
  ServerTest test;
  RawClient client = test.connect();
  client.send(get("/v1/nodes") + post("/v1/jobs", kServedJob) + get("/nowhere") +
              get("/v1/tenants"));
  EXPECT_EQ(body_of(client.answer()), R"({"call":"listNodes"})");
  EXPECT_EQ(body_of(client.answer()), R"({"call":"submitJob"})");
  EXPECT_EQ(status_of(client.answer()), 404);
  EXPECT_EQ(body_of(client.answer()), R"({"call":"listTenants"})");
}

TEST(Server, ReadsARequestCutAnywhere) {
  ServerTest test;
  RawClient client = test.connect();
  for (const char c : post("/v1/jobs", kServedJob)) client.send({&c, 1});
  EXPECT_EQ(body_of(client.answer()), R"({"call":"submitJob"})");
}

TEST(Server, TellsToContinueOnce) {
  ServerTest test;
  RawClient client = test.connect();
  const std::string request = post("/v1/jobs", kServedJob, "Expect: 100-continue\r\n");
  const std::size_t head = request.find("\r\n\r\n") + 4;
  client.send(request.substr(0, head));
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send(request.substr(head, 5));
  client.send(request.substr(head + 5));
  EXPECT_EQ(body_of(client.answer()), R"({"call":"submitJob"})");
}

TEST(Server, ClosesWhereTheClientWantsThat) {
  ServerTest test;
  RawClient client = test.connect();
  client.send(get("/v1/nodes", "Connection: close\r\n"));
  const std::string answer = client.read_all();
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(client.ended());
}

TEST(Server, IsPrivateByDefault) {
  ServerTest test;
  struct stat facts {};
  ASSERT_EQ(stat((test.folder / "muster.sock").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  ServerSettings open;
  open.auth.others = true;
  ServerTest other(nullptr, open);
  ASSERT_EQ(stat((other.folder / "muster.sock").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0666U);
}

TEST(Server, TakesThePlaceOfADeadOneButNotOfALiveOne) {
  const Folder folder;
  FakeService service;
  ServerSettings settings;
  settings.socket_path = folder / "s";
  auto first = ApiServer::open(settings, service);
  ASSERT_TRUE(first.ok());
  const auto second = ApiServer::open(settings, service);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("another manager listens"), std::string::npos);
  first.value()->stop();
  EXPECT_FALSE(RawClient::to_unix(folder / "s").connected());
  first.value().reset();
  EXPECT_FALSE(std::filesystem::exists(folder / "s"));
  {  // A killed server leaves its socket behind.
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, settings.socket_path.data(), settings.socket_path.size());
    const Fd stale(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(bind(stale.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_TRUE(ApiServer::open(settings, service).ok());
  folder.write("s", "");
  const auto blocked = ApiServer::open(settings, service);
  ASSERT_FALSE(blocked.ok());
  EXPECT_NE(blocked.error().message.find("not a socket"), std::string::npos);
  settings.socket_path = folder / std::string(200, 'x');
  EXPECT_NE(ApiServer::open(settings, service).error().message.find("longer than"),
            std::string::npos);
}

TEST(Server, StopsWhileClientsAndTheManagerHang) {
  ServerSettings patient;
  patient.limits.request_time = Duration::seconds(3'600);
  patient.limits.idle_time = Duration::seconds(3'600);
  patient.limits.answer_time = Duration::seconds(3'600);
  ServerTest test(nullptr, patient);
  test.service.hang(true);
  RawClient asking = test.connect();
  asking.send(get("/v1/nodes"));
  RawClient half = test.connect();
  half.send("GET /v1/nod");
  RawClient silent = test.connect();
  while (test.service.calls().empty()) continue;
  const auto start = std::chrono::steady_clock::now();
  test.server->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(10));
  asking.read_all();
  half.read_all();
  silent.read_all();
  EXPECT_TRUE(asking.ended() && half.ended() && silent.ended());
  test.server.reset();
}

TEST(Server, AddsItsFiguresToTheManagers) {
  ServerTest test([](const Caller&, const Call&) {
    return Answer{200, "# HELP x y\nx 1\n", std::nullopt};
  });
  RawClient client = test.connect();
  client.ask(get("/v1/nodes"));
  const std::string answer = client.ask(get("/metrics"));
  EXPECT_NE(answer.find("Content-Type: text/plain; version=0.0.4"), std::string::npos);
  EXPECT_TRUE(body_of(answer).starts_with("# HELP x y\nx 1\n"));
  EXPECT_NE(answer.find("muster_api_requests_total{method=\"GET\",path=\"/v1/nodes\",status="
                        "\"200\"} 1"),
            std::string::npos)
      << answer;
  EXPECT_NE(answer.find("muster_api_connections 1"), std::string::npos);
}

}  // namespace
}  // namespace muster
