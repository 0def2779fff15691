#pragma once

// For the tests of api/: servers that pass calls to a FakeService, on a Unix socket or on TCP.
// Tests connect to them with a RawClient.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "api/server/client_testing.h"
#include "api/server/server.h"
#include "api/server/service_testing.h"
#include "base/os/testing.h"

namespace muster {

// A server on a Unix socket in its own folder, with a FakeService.
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

// Same as ServerTest, on TCP, with tokens for a user and an operator.
struct TcpTest {
  explicit TcpTest(ServerSettings settings = {}) {
    ann = make_token().value();
    op = make_token().value();
    folder.write("t",
                 token_line(ann, {.user = "ann", .name = "laptop", .is_operator = false}).value() +
                     token_line(op, {.user = "root", .name = "desk", .is_operator = true}).value());
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
