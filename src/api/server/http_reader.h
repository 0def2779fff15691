#pragma once

// Requests out of the bytes of a connection, which may be cut anywhere and hold several requests.
// Bounded in memory whatever comes. The one place that knows Beast's parser; the connection feeds
// it and the fuzzer does.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/port/http_request.h"

namespace muster {

// What the server looks at of a request. Fields that did not come are empty.
struct HttpLimits {
  std::uint32_t header_bytes = 16U << 10U;
  std::uint64_t body_bytes = 1U << 20U;
};

class HttpReader {
 public:
  enum class State : std::uint8_t { kHead, kBody, kWhole, kBroken };

  explicit HttpReader(HttpLimits limits);
  HttpReader(HttpReader&&) noexcept;
  HttpReader& operator=(HttpReader&&) noexcept;
  ~HttpReader();

  // Takes the bytes and goes on as far as one whole request; what is beyond is kept for next().
  void feed(std::string_view bytes);

  State state() const;
  bool begun() const;  // Some of the request has come.

  // All but the body from kBody on. Of a repeated field that must come once, the state is kBroken.
  const HttpRequest& head() const;
  HttpRequest take();  // In state kWhole.
  void next();         // Starts on what is left after a request.

  // In state kBroken: the status to refuse with, and why.
  int status() const;
  const std::string& trouble() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster
