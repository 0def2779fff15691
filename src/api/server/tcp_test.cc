// TCP: tokens, tickets, host names, and which connections are replaced by new ones.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "api/server/server.h"
#include "api/server/testing.h"

namespace muster {
namespace {

TEST(Tcp, KnowsCallersByTheirToken) {
  TcpTest tcp;
  RawClient client = tcp.connect();
  EXPECT_EQ(status_of(client.ask(get("/v1/nodes", TcpTest::with(tcp.ann)))), 200);
  EXPECT_EQ(status_of(client.ask(post("/v1/nodes/n/drain", "", TcpTest::with(tcp.op)))), 200);
  const auto calls = tcp.test->service.calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].first.user, "ann");
  EXPECT_FALSE(calls[0].first.is_operator);
  EXPECT_EQ(calls[1].first.user, "root");
  EXPECT_TRUE(calls[1].first.is_operator);
}

// As in `muster view`: no socket, no file, and one ticket that only its user has.
TEST(Tcp, ServesWithoutASocketByATicketOfItsOwn) {
  FakeService service;
  ServerSettings settings;
  settings.tcp_address = "127.0.0.1:0";
  EXPECT_FALSE(ApiServer::open(settings, service).ok());
  settings.ticket_key = "";
  settings.auth.others = true;
  auto server = ApiServer::open(settings, service);
  ASSERT_TRUE(server.ok()) << server.error().message;
  const std::string url = server.value()->url_for("ann", 60);
  const std::string token = url.substr(url.find('=') + 1);
  const auto ask = [&](const std::string& with) {
    RawClient client = RawClient::to_tcp(server.value()->tcp_port());
    return status_of(client.ask(get("/v1/me", TcpTest::with(with))));
  };
  EXPECT_EQ(ask(token), 200);
  EXPECT_EQ(service.calls().at(0).first.user, "ann");
  for (const std::string& wrong : {std::string(), token + "x", make_token().value()}) {
    EXPECT_EQ(ask(wrong), 401);
  }
}

TEST(Tcp, LetsNobodyInWithoutAToken) {
  TcpTest tcp;
  const std::string wrong = make_token().value();
  for (const std::string& header :
       {std::string(), TcpTest::with(wrong), TcpTest::with(""), TcpTest::with(tcp.ann + "x"),
        "Authorization: Basic " + tcp.ann + "\r\n", "Authorization: " + tcp.ann + "\r\n"}) {
    const std::string answer = tcp.connect().ask(get("/v1/nodes", header));
    EXPECT_EQ(status_of(answer), 401) << header;
    EXPECT_NE(answer.find("WWW-Authenticate: Bearer"), std::string::npos);
    EXPECT_EQ(answer.find(wrong), std::string::npos);
    EXPECT_EQ(answer.find(tcp.ann), std::string::npos);
  }
  EXPECT_EQ(status_of(tcp.connect().ask(get("/metrics"))), 401);
  EXPECT_EQ(status_of(tcp.connect().ask(get("/nowhere"))), 401);
  // A token of an earlier request on the connection does not count.
  RawClient client = tcp.connect();
  EXPECT_EQ(status_of(client.ask(get("/v1/nodes", TcpTest::with(tcp.op)))), 200);
  EXPECT_EQ(status_of(client.ask(get("/v1/nodes"))), 401);
  EXPECT_EQ(tcp.test->service.calls().size(), 1u);
  // A large body is not even read.
  RawClient large = tcp.connect();
  large.send("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n");
  EXPECT_EQ(status_of(large.answer()), 401);
}

struct TicketTest {
  explicit TicketTest(FakeService::Handler handler = nullptr) {
    ServerSettings settings;
    settings.tcp_address = "127.0.0.1:0";
    settings.ticket_key = folder / "key";
    test = std::make_unique<ServerTest>(std::move(handler), std::move(settings));
  }
  std::string ticket() const {
    const std::string answer = test->connect().ask(post("/v1/ticket"));
    EXPECT_EQ(status_of(answer), 201) << answer;
    return nlohmann::json::parse(body_of(answer))["ticket"];
  }
  RawClient connect() const { return RawClient::to_tcp(test->server->tcp_port()); }

  Folder folder;
  std::unique_ptr<ServerTest> test;
};

TEST(Tickets, LetABrowserInAsWhoTheSocketSays) {
  TicketTest one;
  const std::string answer = one.test->connect().ask(post("/v1/ticket"));
  const auto given = nlohmann::json::parse(body_of(answer));
  EXPECT_EQ(given["url"], fmt::format("http://127.0.0.1:{}/", one.test->server->tcp_port()));
  ASSERT_EQ(one.test->service.calls().size(), 1u) << "the manager records it";
  EXPECT_EQ(one.test->service.calls()[0].second, "giveTicket");
  const std::string ticket = given["ticket"];
  RawClient client = one.connect();
  EXPECT_EQ(status_of(client.ask(get("/v1/nodes", TcpTest::with(ticket)))), 200);
  const auto calls = one.test->service.calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[1].first.user, given["user"]);
  EXPECT_EQ(calls[1].first.uid, ::geteuid());
  EXPECT_EQ(calls[1].first.via, "ticket");
  EXPECT_TRUE(calls[1].first.is_operator);  // The user of this test runs the server.
  EXPECT_EQ(status_of(one.connect().ask(get("/v1/nodes", TcpTest::with(ticket + "0")))), 401);
  EXPECT_EQ(status_of(one.connect().ask(get("/v1/nodes"))), 401);
}

TEST(Tickets, EndWithALogout) {
  TicketTest one([](const Caller&, const Call& call) {
    return std::holds_alternative<LogOut>(call)
               ? Answer{200, R"({"user":"x","generation":4})", std::nullopt}
               : Answer{200, "{}", std::nullopt};
  });
  const std::string ticket = one.ticket();
  RawClient client = one.connect();
  EXPECT_EQ(status_of(client.ask(get("/v1/nodes", TcpTest::with(ticket)))), 200);
  EXPECT_EQ(status_of(one.test->connect().ask(post("/v1/logout"))), 200);
  EXPECT_EQ(status_of(client.ask(get("/v1/nodes", TcpTest::with(ticket)))), 401);
  EXPECT_EQ(status_of(one.connect().ask(get("/v1/nodes", TcpTest::with(one.ticket())))), 200);
}

TEST(Tcp, RefusalsAreRecordedWithoutCredentials) {
  TcpTest tcp;
  const std::string wrong = make_token().value();
  EXPECT_EQ(status_of(tcp.connect().ask(get("/v1/jobs/12/log", TcpTest::with(wrong)))), 401);
  EXPECT_EQ(status_of(tcp.connect().ask(get("/" + wrong))), 401);
  EXPECT_EQ(status_of(tcp.connect().ask(post("/v1/ticket", "", TcpTest::with(tcp.ann)))), 403);
  const std::string user = TcpTest::with(tcp.ann);
  const char* job = "{\"command\": [\"true\"], \"priority\": 2000}";
  EXPECT_EQ(status_of(tcp.connect().ask(post("/v1/jobs", job, user))), 400);
  EXPECT_EQ(status_of(tcp.connect().ask(post("/v1/plan", job, user))), 400);
  const std::vector<ServerAct> acts = tcp.test->service.acts();
  ASSERT_EQ(acts.size(), 4u) << "a plan changes nothing";
  EXPECT_EQ(acts[3].call, "submitJob");
  EXPECT_EQ(acts[3].status, 400);
  EXPECT_EQ(acts[3].caller.user, "ann");
  EXPECT_EQ(acts[0].call + " " + acts[0].object, "readLog job 12");
  EXPECT_EQ(acts[0].status, 401);
  EXPECT_EQ(acts[0].caller.user, "");
  EXPECT_EQ(acts[0].caller.address, "127.0.0.1");
  EXPECT_EQ(acts[1].call, "");
  EXPECT_EQ(acts[2].caller.user, "ann");
  EXPECT_EQ(acts[2].caller.via, "token laptop");
  for (const ServerAct& act : acts) {
    EXPECT_EQ((act.call + act.object + act.answer).find(wrong), std::string::npos);
  }
}

// Else a token for one who may little would become a ticket for one who may much.
TEST(Tickets, AreGivenOnTheSocketOnly) {
  TicketTest one;
  RawClient client = one.connect();
  EXPECT_EQ(status_of(client.ask(post("/v1/ticket", "", TcpTest::with(one.ticket())))), 403);
  ServerTest without;
  EXPECT_EQ(status_of(without.connect().ask(post("/v1/ticket"))), 409);
}

TEST(Page, IsForEverybodyAndLoadsNothingFromElsewhere) {
  TicketTest one;
  RawClient client = one.connect();
  for (const char* path : {"/", "/?x=1", "/app.js", "/app.css", "/icon.svg"}) {
    const std::string answer = client.ask(get(path));
    EXPECT_EQ(status_of(answer), 200) << path;
    EXPECT_NE(answer.find("Content-Security-Policy: default-src 'none'"), std::string::npos);
    EXPECT_NE(answer.find("Content-Encoding: gzip"), std::string::npos);
  }
  EXPECT_EQ(status_of(client.ask(get("/app.js.gz"))), 401);
  EXPECT_EQ(status_of(one.connect().ask(post("/"))), 401);
  EXPECT_EQ(status_of(one.connect().ask(get("/", "Host: evil.example\r\n"))), 400);
  EXPECT_EQ(status_of(one.connect().ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")), 403);
  EXPECT_TRUE(one.test->service.calls().empty());
}

TEST(Page, IsOnAnotherPortWhereItsOwnIsTaken) {
  TicketTest first;
  ServerSettings settings;
  settings.tcp_address = fmt::format("127.0.0.1:{}", first.test->server->tcp_port());
  settings.ticket_key = "";
  settings.or_any_port = true;
  ServerTest second(nullptr, std::move(settings));
  EXPECT_NE(second.server->tcp_port(), first.test->server->tcp_port());
  EXPECT_NE(second.server->tcp_port(), 0);
}

// Any user of the machine can connect by TCP, from any number of addresses.
TEST(Tcp, CannotTakeTheRoomOfTheSocket) {
  ServerSettings settings;
  settings.max_connections = 8;
  const TcpTest tcp(settings);
  std::vector<RawClient> known;
  for (int i = 0; i < 6; ++i) {
    known.push_back(tcp.connect());
    const std::string& token = i % 2 == 0 ? tcp.ann : tcp.op;
    EXPECT_EQ(status_of(known.back().ask(get("/v1/nodes", TcpTest::with(token)))), 200);
  }
  RawClient late = tcp.connect();
  EXPECT_EQ(status_of(late.answer()), 429);
  EXPECT_EQ(status_of(tcp.test->connect().ask(get("/v1/nodes"))), 200);
  EXPECT_EQ(status_of(known[0].ask(get("/v1/nodes", TcpTest::with(tcp.ann)))), 200);
}

// Both at the total limit and at the limit of one address.
TEST(Tcp, WhoOnlyConnectsMakesRoomForWhoHasATicket) {
  for (const bool of_one : {false, true}) {
    ServerSettings settings;
    settings.max_connections = of_one ? 100 : 8;
    settings.max_per_peer = of_one ? 6 : 100;
    const TcpTest tcp(settings);
    RawClient known = tcp.connect();
    EXPECT_EQ(status_of(known.ask(get("/v1/nodes", TcpTest::with(tcp.ann)))), 200);
    std::vector<RawClient> silent;
    for (int i = 0; i < 5; ++i) silent.push_back(tcp.connect());
    RawClient late = tcp.connect();
    EXPECT_EQ(status_of(late.ask(get("/v1/nodes", TcpTest::with(tcp.ann)))), 200);
    silent[0].read_all();
    EXPECT_TRUE(silent[0].ended());
    EXPECT_EQ(status_of(silent[1].ask(get("/healthz"))), 200) << "the oldest alone had to go";
    EXPECT_EQ(status_of(known.ask(get("/v1/nodes", TcpTest::with(tcp.ann)))), 200);
  }
}

// All users come from one address, as through a tunnel.
TEST(Tcp, OneUserDoesNotKeepTheOthersOut) {
  ServerSettings settings;
  settings.max_per_peer = 6;
  const TcpTest tcp(settings);
  std::vector<RawClient> anns;
  for (int i = 0; i < 6; ++i) {
    anns.push_back(tcp.connect());
    anns.back().send(get("/v1/events?follow=1", TcpTest::with(tcp.ann)));
    EXPECT_EQ(status_of(anns.back().read_until("\r\n\r\n")), 200);
  }
  RawClient other = tcp.connect();
  EXPECT_EQ(status_of(other.ask(get("/v1/nodes", TcpTest::with(tcp.op)))), 200);
  anns[0].read_all();
  EXPECT_TRUE(anns[0].ended());
}

// A proxy can send requests of several users over one connection.
TEST(Tcp, ARefusalIsNotRecordedForAnEarlierCaller) {
  TcpTest tcp;
  RawClient client = tcp.connect();
  EXPECT_EQ(status_of(client.ask(get("/v1/nodes", TcpTest::with(tcp.ann)))), 200);
  EXPECT_EQ(status_of(client.ask(get("/v1/nodes", "Origin: http://evil.example\r\n"))), 403);
  const std::vector<ServerAct> acts = tcp.test->service.acts();
  ASSERT_EQ(acts.size(), 1U);
  EXPECT_EQ(acts[0].caller.user, "");
  EXPECT_EQ(acts[0].caller.address, "127.0.0.1");
}

TEST(Tcp, IsCalledByTheFirstOfItsNames) {
  ServerSettings settings;
  settings.plain_tcp = true;
  settings.auth.hosts = {"gpu.example.org", "other.example.org"};
  settings.tcp_address = "0.0.0.0:0";
  settings.ticket_key = "";
  ServerTest test(nullptr, std::move(settings));
  EXPECT_EQ(test.server->url(), fmt::format("http://gpu.example.org:{}/", test.server->tcp_port()));
}

TEST(Tcp, AStreamEndsWithTheRightsOfItsReader) {
  ServerSettings settings;
  settings.limits.rights_time = Duration::micros(100'000);
  TcpTest tcp(std::move(settings));
  RawClient client = tcp.connect();
  client.send(get("/v1/events?follow=1", TcpTest::with(tcp.op)));
  EXPECT_EQ(status_of(client.read_until("\r\n\r\n")), 200);
  tcp.folder.write("t", "");
  client.read_all();
  EXPECT_TRUE(client.ended());
}

TEST(Tcp, TellsEverybodyItsHealth) {
  TcpTest tcp;
  RawClient client = tcp.connect();
  EXPECT_EQ(status_of(client.ask(get("/healthz"))), 200);
  EXPECT_EQ(tcp.test->service.calls()[0].first.user, "");
  EXPECT_EQ(status_of(client.ask(get("/healthz", TcpTest::with("wrong")))), 200);
}

// As on a machine without loopback. RFC 5737 reserves this address for documentation.
TEST(Tcp, SaysWhyThereIsNoneWhereAnyPortWouldHaveDone) {
  ServerSettings settings;
  settings.tcp_address = "192.0.2.1:7070";
  settings.plain_tcp = true;
  settings.ticket_key = "";
  settings.or_any_port = true;
  ServerTest test(nullptr, std::move(settings));
  EXPECT_EQ(test.server->tcp_port(), 0);
  EXPECT_EQ(test.server->url(), "");
  EXPECT_EQ(test.server->tcp_trouble(), "192.0.2.1: Cannot assign requested address");
}

TEST(Tcp, ForgetsATokenThatIsTakenFromTheFile) {
  TcpTest tcp;
  RawClient client = tcp.connect();
  EXPECT_EQ(status_of(client.ask(get("/v1/nodes", TcpTest::with(tcp.ann)))), 200);
  tcp.folder.write("t", "");
  EXPECT_EQ(status_of(client.ask(get("/v1/nodes", TcpTest::with(tcp.ann)))), 401);
  tcp.folder.write("t", "nonsense");
  const std::string answer = tcp.connect().ask(get("/v1/nodes", TcpTest::with(tcp.ann)));
  EXPECT_EQ(status_of(answer), 503);
  EXPECT_EQ(answer.find("nonsense"), std::string::npos);
}

TEST(Tcp, RefusesBrowsersOfOthers) {
  TcpTest tcp;
  EXPECT_EQ(status_of(tcp.connect().ask("GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n")),
            403);
  EXPECT_EQ(status_of(tcp.connect().ask(get("/healthz", "Origin: http://evil.example\r\n"))), 403);
  EXPECT_EQ(status_of(tcp.connect().ask(get("/healthz", "Origin: http://localhost\r\n"))), 200);
}

TEST(Tcp, IsRefusedWhereTokensWouldBeSeen) {
  FakeService service;
  const Folder folder;
  folder.write("t", "");
  const auto error = [&](const std::string& address, const std::string& tokens, bool plain) {
    ServerSettings settings;
    settings.socket_path = folder / "s";
    settings.tcp_address = address;
    settings.token_file = tokens;
    settings.plain_tcp = plain;
    const auto server = ApiServer::open(settings, service);
    return server.ok() ? "" : server.error().message;
  };
  EXPECT_NE(error("127.0.0.1:0", "", false).find("requires a token file"), std::string::npos);
  EXPECT_NE(error("0.0.0.0:0", folder / "t", false).find("unencrypted"), std::string::npos);
  EXPECT_NE(error("[::]:0", folder / "t", false).find("unencrypted"), std::string::npos);
  EXPECT_EQ(error("0.0.0.0:0", folder / "t", true), "");
  EXPECT_EQ(error("127.0.0.1:0", folder / "t", false), "");
  for (const char* wrong : {"localhost:80", "127.0.0.1", "127.0.0.1:", "1.2.3.4:99999", "::1:80",
                            "[127.0.0.1]:80", ":80", "127.0.0.1:-1"}) {
    EXPECT_NE(error(wrong, folder / "t", true).find("must be an address"), std::string::npos)
        << wrong;
  }
  EXPECT_NE(error("127.0.0.1:0", folder / "none", false), "");
}

}  // namespace
}  // namespace muster
