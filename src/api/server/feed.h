#pragma once

// An answer that comes piece by piece: a part of a log, or what happens as it happens. A feed
// decides what is said, its outlet (the connection) says it. Both live on the server's thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "api/port/service.h"

namespace muster {

class Outlet {
 public:
  virtual ~Outlet() = default;

  // `then` comes later, or never if the other end has gone meanwhile.
  virtual void ask(Call call, std::function<void(Answer)> then) = 0;
  // Instead of begin(): an answer of one piece.
  virtual void refuse(Answer answer) = 0;
  // `headers` are whole lines. Without a length it is a stream of events.
  virtual void begin(std::string headers, std::optional<std::uint64_t> length) = 0;
  virtual void put(std::string_view bytes) = 0;
  // After what was put has gone. Short of the promised length, the connection ends.
  virtual void end() = 0;
  virtual std::size_t pending() const = 0;  // Put, and not sent yet.
  virtual const Caller& caller() const = 0;
};

class Feed {
 public:
  virtual ~Feed() = default;
  virtual void start() = 0;
  virtual void drained() {}  // After begin(), and whenever all that was put has gone.
  virtual void tick() {}     // Some five times a second.
  virtual void hear(const Notes& /*news*/) {}
};

}  // namespace muster
