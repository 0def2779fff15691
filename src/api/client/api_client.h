#pragma once

// Blocking HTTP client for the manager. It keeps one connection and reopens it if it was closed.
// Every call has a time limit. An answer with any status is an HttpReply; an Error means that no
// answer arrived (no manager, broken connection, timeout, answer too large). Not thread-safe.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "api/client/manager_address.h"
#include "api/client/sse.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

using HttpHeaders = std::map<std::string, std::string>;

struct HttpReply {
  int status = 0;
  std::string body;
  HttpHeaders headers;  // Names in lower case.

  bool ok() const { return status >= 200 && status < 300; }
};

enum class StreamEnd : std::uint8_t {
  kOver,     // The manager ended the stream.
  kEnough,   // `on_event` or `stop` ended it.
  kBroken,   // The connection broke; request the stream again from the last event.
  kRefused,  // The manager did not start a stream; see StreamResult::reply.
};

struct StreamResult {
  StreamEnd end = StreamEnd::kBroken;
  HttpReply reply;      // kRefused only: the manager's answer.
  std::string trouble;  // kBroken only: the reason, on one line.
};

class ApiClient {
 public:
  // Returns an error on one line, with a hint what to do, if no manager listens there.
  static Result<ApiClient> connect(ManagerAddress where);
  ApiClient(ApiClient&&) noexcept;
  ApiClient& operator=(ApiClient&&) noexcept;
  ~ApiClient();

  // If the kept connection turns out to be closed, reconnects and sends the request again, once.
  Result<HttpReply> get(const std::string& target);
  // Sends the request at most once. A caller whose request is idempotent may retry.
  Result<HttpReply> post(const std::string& target, const std::string& body,
                         const HttpHeaders& headers = {});

  // Passes events to `on_event` until the manager ends the stream, `on_event` returns false, or
  // `stop` returns true. Polls `stop` about ten times per second.
  StreamResult stream(const std::string& target, const HttpHeaders& headers,
                      const std::function<bool(const SseEvent&)>& on_event,
                      const std::function<bool()>& stop);

  // Makes every later call fail soon after `stop` returns true. Calls poll `stop` about ten times
  // per second. For a client on a thread that another thread joins.
  void stop_when(std::function<bool()> stop);

  const ManagerAddress& where() const;

  static constexpr Duration kConnectWait = Duration::seconds(5);
  static constexpr Duration kAnswerWait = Duration::seconds(30);
  static constexpr Duration kStreamWait = Duration::seconds(60);  // Four missed heartbeats.
  static constexpr std::uint64_t kMaxBodyBytes = 64U << 20U;

 private:
  class Line;
  explicit ApiClient(std::unique_ptr<Line> line);
  std::unique_ptr<Line> line_;
};

}  // namespace muster
