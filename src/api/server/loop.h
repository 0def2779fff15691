#pragma once

// The server's thread and its sockets, without Asio's headers: one loop, wires that read and write
// on it, timers. All but post() is for the loop's own thread. Used by ApiServer and Connection.

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

// One connection's bytes, plain or encrypted. At most one read and one write at a time; what they
// were given must live until they are done. Every call is answered on the loop, later, once; a
// closed wire answers false.
class Wire {
 public:
  using Done = std::function<void(bool ok, std::size_t bytes)>;

  virtual ~Wire() = default;
  virtual void shake_hands(Done done) = 0;
  virtual void read(std::span<char> room, Done done) = 0;     // Some bytes; false at the end.
  virtual void write(std::string_view bytes, Done done) = 0;  // All of them.
  // Nothing more will be sent. True: the other end may still be read from.
  virtual void finish(Done done) = 0;
  virtual void close() = 0;
};

// A certificate and its key, as TLS wires need them.
class Tls {
 public:
  // PEM files; versions before 1.2 are not spoken.
  static Result<Tls> open(const std::string& certificate, const std::string& key);

 private:
  friend class Loop;
  explicit Tls(std::shared_ptr<void> context) : context_(std::move(context)) {}
  std::shared_ptr<void> context_;  // An ssl::context.
};

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // From any thread, also before run() and after it (when it is dropped with the loop).
  void post(std::function<void()> what);

  // Returns after finish(), once every wire is closed.
  void run();
  void finish();

  void when_readable(int fd, std::function<void()> what);  // Again and again.
  void every(Duration length, std::function<void()> what);

  std::unique_ptr<Wire> plain_wire(Fd socket);
  std::unique_ptr<Wire> tls_wire(Fd socket, const Tls& tls);

 private:
  void let_go();

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster
