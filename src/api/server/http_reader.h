#pragma once

// Incremental HTTP/1.1 request parser, based on Beast. Input arrives in pieces of any size and may
// contain several requests. Memory is bounded for any input. Used by Connection and by the fuzzer.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/port/http_request.h"

namespace muster {

// Maximum sizes of a request.
struct HttpLimits {
  std::uint32_t header_bytes = 16U << 10U;
  std::uint64_t body_bytes = 1U << 20U;
};

class HttpReader {
 public:
  // The next part to read; kWhole: one request is complete; kBroken: invalid, see status().
  enum class State : std::uint8_t { kHead, kBody, kWhole, kBroken };

  explicit HttpReader(HttpLimits limits);
  HttpReader(HttpReader&&) noexcept;
  HttpReader& operator=(HttpReader&&) noexcept;
  ~HttpReader();

  // Adds input and parses at most one complete request; keeps the remaining bytes for next().
  void feed(std::string_view bytes);

  State state() const;
  bool begun() const;  // Part of a request was received.

  // Returns the request without its body. Valid in kBody and kWhole. A repeated header that must be
  // unique leads to kBroken.
  const HttpRequest& head() const;
  HttpRequest take();  // Returns the full request. REQUIRES: kWhole.
  void next();         // Starts to parse the next request.

  // kBroken only: the HTTP status and the message for the answer.
  int status() const;
  const std::string& trouble() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster
