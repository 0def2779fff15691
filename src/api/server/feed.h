#pragma once

// Answers that are sent in pieces: part of a log, or a stream of events. A Feed produces the
// content; a ResponseWriter (the connection) sends it. Both run on the server's thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "api/port/service.h"

namespace muster {

// Implemented by Connection.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;

  // Calls the manager. `then` runs later, or never if the connection closes first.
  virtual void ask(Call call, std::function<void(Answer)> then) = 0;
  // Sends a complete answer instead of a feed. REQUIRES: begin() was not called.
  virtual void refuse(Answer answer) = 0;
  // Sends the head. `headers` are complete lines. Without a length, the answer is an event stream.
  virtual void begin(std::string headers, std::optional<std::uint64_t> length) = 0;
  virtual void put(std::string_view bytes) = 0;  // Queues bytes of the body.
  // Ends the answer after all queued bytes. If fewer than `length` were put, the connection closes.
  virtual void end() = 0;
  virtual std::size_t pending() const = 0;  // Bytes that are not sent yet.
  virtual const Caller& caller() const = 0;
};

// Callbacks of Connection.
class Feed {
 public:
  virtual ~Feed() = default;
  virtual void start() = 0;
  virtual void drained() {}  // After begin(), and each time all queued bytes are sent.
  virtual void tick() {}     // About five times per second.
  virtual void on_events(const Notes& /*news*/) {}
};

}  // namespace muster
