#pragma once

// Speaks HTTP with the manager over one connection that is kept and, where it has gone, made again.
// Every call waits a bounded time; an answer of any status is a HttpReply, an Error means that
// there was no answer at all (nobody there, broken, too slow, too large). Blocking; for one thread.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "api/client/sse.h"
#include "api/client/where.h"
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
  kOver,     // The manager ended it, as it should.
  kEnough,   // on_event or `stop` said so.
  kBroken,   // The connection went; ask again from where it was.
  kRefused,  // See reply.
};

struct StreamResult {
  StreamEnd end = StreamEnd::kBroken;
  HttpReply reply;      // The answer, if it was refused.
  std::string trouble;  // What broke, in one line.
};

class ApiClient {
 public:
  // Refused if nobody listens there, in one line that says what to do.
  static Result<ApiClient> connect(Where where);
  ApiClient(ApiClient&&) noexcept;
  ApiClient& operator=(ApiClient&&) noexcept;
  ~ApiClient();

  // A kept connection that turns out closed is made again once.
  Result<HttpReply> get(const std::string& target);
  // Sent once: whoever may safely send it twice does so.
  Result<HttpReply> post(const std::string& target, const std::string& body,
                         const HttpHeaders& headers = {});

  // Events until the manager ends the stream, `on_event` has enough (returns false), or `stop`,
  // which is asked some ten times a second, says so.
  StreamResult stream(const std::string& target, const HttpHeaders& headers,
                      const std::function<bool(const SseEvent&)>& on_event,
                      const std::function<bool()>& stop);

  // From now on every call ends with an error soon after `stop`, asked some ten times a second,
  // says so. For a thread that somebody may want to join.
  void stop_when(std::function<bool()> stop);

  const Where& where() const;

  static constexpr Duration kConnectWait = Duration::seconds(5);
  static constexpr Duration kAnswerWait = Duration::seconds(30);
  static constexpr Duration kStreamWait = Duration::seconds(60);  // Four missed signs of life.
  static constexpr std::uint64_t kMostBodyBytes = 64U << 20U;

 private:
  class Line;
  explicit ApiClient(std::unique_ptr<Line> line);
  std::unique_ptr<Line> line_;
};

}  // namespace muster
