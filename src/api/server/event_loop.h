#pragma once

// Event loop, sockets and timers of the HTTP server. Hides Asio's headers. Only post() may be
// called from other threads while run() executes. Used by ApiServer and Connection.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/os/files.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// Byte stream of one connection, plain or TLS. At most one read and one write may be pending; their
// buffers must live until `done`. Each call invokes `done` exactly once, later, on the loop; with
// ok = false if the stream is closed.
class ByteStream {
 public:
  using Done = std::function<void(bool ok, std::size_t bytes)>;

  virtual ~ByteStream() = default;
  virtual void start_tls_handshake(Done done) = 0;
  virtual void read(std::span<char> room, Done done) = 0;  // At least one byte; false at the end.
  virtual void write(std::string_view bytes, Done done) = 0;  // Writes all bytes.
  // Ends the sending side. ok = true: the stream can still be read.
  virtual void finish(Done done) = 0;
  virtual void close() = 0;
};

// Server certificate and private key for TLS streams.
class Tls {
 public:
  // Both are PEM files. Requires TLS 1.2 or later.
  static Result<Tls> open(const std::string& certificate, const std::string& key);

 private:
  friend class EventLoop;
  explicit Tls(std::shared_ptr<void> context) : context_(std::move(context)) {}
  std::shared_ptr<void> context_;  // An ssl::context.
};

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs `what` on the loop. May be called from any thread, also before run(); after run()
  // returned, `what` is never run.
  void post(std::function<void()> what);

  // Returns after finish(), when all streams are closed.
  void run();
  void finish();

  void when_readable(int fd, std::function<void()> what);  // Each time it is readable.
  void every(Duration length, std::function<void()> what);

  std::unique_ptr<ByteStream> plain_wire(Fd socket);
  std::unique_ptr<ByteStream> tls_wire(Fd socket, const Tls& tls);

 private:
  void let_go();

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster
