#include "api/client/api_client.h"

#include <algorithm>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>

#include "base/text/text.h"

namespace muster {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

using Code = boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;
using Clock = std::chrono::steady_clock;
using Stop = std::function<bool()>;

constexpr std::chrono::milliseconds kTick(100);  // Poll interval of `stop`.

HttpHeaders headers_of(const http::response<http::string_body>& message) {
  HttpHeaders headers;
  for (const auto& field : message) {
    headers[lowered(std::string(field.name_string()))] = std::string(field.value());
  }
  return headers;
}

HttpReply reply_of(http::response<http::string_body>& message) {
  return {static_cast<int>(message.result_int()), std::move(message.body()), headers_of(message)};
}

}  // namespace

// One connection, plain or TLS. Only wait_for() blocks, and it enforces the time limit.
class ApiClient::Line {
 public:
  explicit Line(ManagerAddress where) : where_(std::move(where)) {}

  const ManagerAddress& where() const { return where_; }
  void stop_when(Stop stop) { stop_ = std::move(stop); }
  bool open() const { return socket_ && socket_->is_open(); }

  void close() {
    if (!socket_) return;
    Code ignored;
    socket_->close(ignored);
    io_.restart();
    io_.poll();  // Runs the handlers of cancelled operations before their objects are destroyed.
    tls_.reset();
    socket_.reset();
    buffer_.clear();
  }

  MaybeError open_again() {
    close();
    MaybeError refused = where_.socket.empty() ? open_tcp() : open_unix();
    if (refused) close();
    return refused;
  }

  MaybeError send(http::request<http::string_body>& request) {
    request.version(11);
    request.set(http::field::host, where_.authority());
    request.set(http::field::user_agent, "muster");
    if (!where_.token.empty()) {
      request.set(http::field::authorization, "Bearer " + where_.token);
    }
    request.prepare_payload();
    const Code code = wait_for(kAnswerWait, {}, [&](auto done) {
      on_stream([&](auto& stream) { http::async_write(stream, request, done); });
    });
    return code ? MaybeError(broken(code)) : std::nullopt;
  }

  Result<HttpReply> receive() {
    http::response_parser<http::string_body> parser;
    parser.body_limit(kMaxBodyBytes);
    const Code code = wait_for(kAnswerWait, {}, [&](auto done) {
      on_stream([&](auto& stream) { http::async_read(stream, buffer_, parser, done); });
    });
    if (code) {
      close();
      return broken(code);
    }
    if (!parser.get().keep_alive()) close();
    return reply_of(parser.get());
  }

  StreamResult receive_stream(const std::function<bool(const SseEvent&)>& on_event,
                              const Stop& stop);

 private:
  using Parser = http::response_parser<http::string_body>;

  Error broken(const Code& code) const {
    if (code == http::error::body_limit)
      return {where_.text() + ": the answer is too large", ErrorCode::kUnavailable};
    if (code == asio::error::timed_out) {
      return {"the manager at " + where_.text() + " did not answer within " +
                  short_duration(kAnswerWait),
              ErrorCode::kUnavailable};
    }
    if (code == http::error::end_of_stream || code == asio::error::eof ||
        code == http::error::partial_message) {
      return {"the manager at " + where_.text() + " closed the connection",
              ErrorCode::kUnavailable};
    }
    return {where_.text() + ": " + code.message(), ErrorCode::kUnavailable};
  }

  Error nobody(const std::string& reason = "") const {
    if (reason == "Permission denied") {
      return {where_.text() +
                  ": Permission denied: a manager in personal mode accepts only its own user; see "
                  "docs/how-to/operate.md",
              ErrorCode::kForbidden};
    }
    return {"no manager answers at " + where_.text() +
                (reason.empty() ? std::string() : " (" + reason + ")") +
                "; start one with 'muster serve'",
            ErrorCode::kUnavailable};
  }

  // Runs one asynchronous operation until it completes, times out or is stopped.
  template <class Begin>
  Code wait_for(Duration longest, const Stop& stop, Begin begin) {
    std::optional<Code> got;
    begin([&got](const Code& code, auto&&...) { got = code; });
    const auto until = Clock::now() + std::chrono::microseconds(longest.us());
    Code ended;
    while (!got) {
      io_.restart();
      io_.run_for(kTick);
      if (got || ended) continue;
      if (Clock::now() >= until) ended = asio::error::timed_out;
      if ((stop && stop()) || (stop_ && stop_())) ended = asio::error::operation_aborted;
      Code ignored;
      if (ended) socket_->close(ignored);  // Completes the operation.
    }
    return ended ? ended : *got;
  }

  template <class Use>
  void on_stream(Use use) {
    if (tls_) {
      use(*tls_);
    } else {
      use(*socket_);
    }
  }

  Code connect_to(const asio::generic::stream_protocol::endpoint& endpoint) {
    socket_.emplace(io_);
    return wait_for(kConnectWait, {}, [&](auto done) { socket_->async_connect(endpoint, done); });
  }

  MaybeError open_unix() {
    const Code code = connect_to(asio::local::stream_protocol::endpoint(where_.socket));
    if (!code) return std::nullopt;
    const bool absent = code == boost::system::errc::no_such_file_or_directory ||
                        code == asio::error::connection_refused;
    return absent ? nobody() : nobody(code.message());
  }

  MaybeError open_tcp() {
    Code code;
    asio::ip::tcp::resolver resolver(io_);
    const auto addresses = resolver.resolve(where_.host, where_.port, code);
    if (code) return nobody(code.message());
    for (const auto& address : addresses) {
      code = connect_to(address.endpoint());
      if (code) continue;
      Code ignored;  // Keep-alive detects a dead peer on connections that follow events for days.
      socket_->set_option(asio::socket_base::keep_alive(true), ignored);
      return where_.tls ? start_tls_handshake() : std::nullopt;
    }
    return nobody(code.message());
  }

  MaybeError start_tls_handshake() {
    Code code;
    context_.emplace(asio::ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(context_->native_handle(), TLS1_2_VERSION);
    context_->set_verify_mode(asio::ssl::verify_peer, code);
    if (where_.ca_file.empty()) {
      context_->set_default_verify_paths(code);
    } else {
      context_->load_verify_file(where_.ca_file, code);
    }
    if (code)
      return Error{"no trusted certificates in " + in_quotes(where_.ca_file), ErrorCode::kNotFound};
    tls_.emplace(*socket_, *context_);
    tls_->set_verify_callback(asio::ssl::host_name_verification(where_.host), code);
    SSL_set_tlsext_host_name(tls_->native_handle(), where_.host.c_str());
    code = wait_for(kConnectWait, {}, [&](auto done) {
      tls_->async_handshake(asio::ssl::stream_base::client, done);
    });
    if (!code) return std::nullopt;
    return Error{"TLS handshake with " + where_.text() + " failed: " + code.message() +
                     "; set MUSTER_CA to a file of trusted certificates",
                 ErrorCode::kUnavailable};
  }

  ManagerAddress where_;
  Stop stop_;
  asio::io_context io_;
  std::optional<asio::ssl::context> context_;
  std::optional<Socket> socket_;
  std::optional<asio::ssl::stream<Socket&>> tls_;
  beast::flat_buffer buffer_;
};

StreamResult ApiClient::Line::receive_stream(const std::function<bool(const SseEvent&)>& on_event,
                                             const Stop& stop) {
  Parser parser;
  parser.body_limit(kMaxBodyBytes);
  const auto read_some = [&](auto read, Duration longest) {
    return wait_for(longest, stop,
                    [&](auto done) { on_stream([&](auto& stream) { read(stream, done); }); });
  };
  const auto ended = [&](StreamEnd end, std::string trouble = "") {
    close();
    return StreamResult{end, {}, std::move(trouble)};
  };
  const auto after = [&](const Code& code) {
    if (code == asio::error::operation_aborted) return ended(StreamEnd::kEnough);
    return ended(StreamEnd::kBroken, broken(code).message);
  };
  Code code = read_some(
      [&](auto& stream, auto done) { http::async_read_header(stream, buffer_, parser, done); },
      kAnswerWait);
  if (code) return after(code);
  if (!parser.get()[http::field::content_type].starts_with("text/event-stream")) {
    code =
        read_some([&](auto& stream, auto done) { http::async_read(stream, buffer_, parser, done); },
                  kAnswerWait);
    if (code) return after(code);
    StreamResult refused{StreamEnd::kRefused, reply_of(parser.get()), ""};
    if (!parser.get().keep_alive()) close();
    return refused;
  }
  parser.body_limit(boost::none);  // The loop below removes the bytes it has read.
  SseParser events;
  while (true) {
    const Result<bool> more = events.take(parser.get().body(), on_event);
    parser.get().body().clear();
    if (!more.ok()) return ended(StreamEnd::kBroken, more.error().message);
    if (!more.value()) return ended(StreamEnd::kEnough);
    if (parser.is_done()) return ended(StreamEnd::kOver);
    code = read_some(
        [&](auto& stream, auto done) { http::async_read_some(stream, buffer_, parser, done); },
        kStreamWait);
    if (code && !parser.is_done()) return after(code);
  }
}

ApiClient::ApiClient(std::unique_ptr<Line> line) : line_(std::move(line)) {}
ApiClient::ApiClient(ApiClient&&) noexcept = default;
ApiClient& ApiClient::operator=(ApiClient&&) noexcept = default;
ApiClient::~ApiClient() = default;

void ApiClient::stop_when(std::function<bool()> stop) { line_->stop_when(std::move(stop)); }

const ManagerAddress& ApiClient::where() const { return line_->where(); }

Result<ApiClient> ApiClient::connect(ManagerAddress where) {
  auto line = std::make_unique<Line>(std::move(where));
  if (MaybeError refused = line->open_again()) return *refused;
  return ApiClient(std::move(line));
}

Result<HttpReply> ApiClient::get(const std::string& target) {
  for (bool kept = line_->open();; kept = false) {
    if (!line_->open()) {
      if (MaybeError refused = line_->open_again()) return *refused;
    }
    http::request<http::string_body> request(http::verb::get, target, 11);
    MaybeError refused = line_->send(request);
    Result<HttpReply> reply = refused ? Result<HttpReply>(*refused) : line_->receive();
    if (reply.ok()) return reply;
    line_->close();
    if (!kept) return reply;
  }
}

Result<HttpReply> ApiClient::post(const std::string& target, const std::string& body,
                                  const HttpHeaders& headers) {
  if (!line_->open()) {
    if (MaybeError refused = line_->open_again()) return *refused;
  }
  http::request<http::string_body> request(http::verb::post, target, 11);
  for (const auto& [name, value] : headers) request.set(name, value);
  if (!body.empty()) request.set(http::field::content_type, "application/json");
  request.body() = body;
  const MaybeError refused = line_->send(request);
  // A server that rejects the body may answer and close before all of it was sent.
  Result<HttpReply> reply = line_->receive();
  if (!reply.ok() && refused) return *refused;
  return reply;
}

StreamResult ApiClient::stream(const std::string& target, const HttpHeaders& headers,
                               const std::function<bool(const SseEvent&)>& on_event,
                               const std::function<bool()>& stop) {
  http::request<http::string_body> request(http::verb::get, target, 11);
  for (const auto& [name, value] : headers) request.set(name, value);
  request.set(http::field::accept, "text/event-stream");
  MaybeError refused = line_->open() ? std::nullopt : line_->open_again();
  if (!refused) refused = line_->send(request);
  if (refused) {
    line_->close();
    return {StreamEnd::kBroken, {}, refused->message};
  }
  return line_->receive_stream(on_event, stop);
}

}  // namespace muster
