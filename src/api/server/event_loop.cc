#include "api/server/event_loop.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <list>
#include <optional>

namespace muster {

namespace asio = boost::asio;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;

namespace {

int family_of(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  return address.ss_family;
}

Socket socket_of(asio::io_context& context, Fd fd) {
  const int family = family_of(fd.get());
  return Socket(context, asio::generic::stream_protocol(family, 0), fd.release());
}

void close_socket(Socket& socket) {
  error_code ignored;
  socket.close(ignored);
}

class PlainWire final : public ByteStream {
 public:
  explicit PlainWire(Socket socket) : socket_(std::move(socket)) {}

  void start_tls_handshake(Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done(true, 0); });
  }
  void read(std::span<char> room, Done done) override {
    socket_.async_read_some(
        asio::buffer(room.data(), room.size()),
        [done = std::move(done)](error_code error, std::size_t n) { done(!error, n); });
  }
  void write(std::string_view bytes, Done done) override {
    asio::async_write(
        socket_, asio::buffer(bytes.data(), bytes.size()),
        [done = std::move(done)](error_code error, std::size_t n) { done(!error, n); });
  }
  void finish(Done done) override {
    error_code error;
    socket_.shutdown(Socket::shutdown_send, error);
    asio::post(socket_.get_executor(), [done = std::move(done), ok = !error] { done(ok, 0); });
  }
  void close() override { close_socket(socket_); }

 private:
  Socket socket_;
};

class TlsWire final : public ByteStream {
 public:
  TlsWire(Socket socket, std::shared_ptr<asio::ssl::context> context)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {}

  void start_tls_handshake(Done done) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [done = std::move(done)](error_code error) { done(!error, 0); });
  }
  void read(std::span<char> room, Done done) override {
    stream_.async_read_some(
        asio::buffer(room.data(), room.size()),
        [done = std::move(done)](error_code error, std::size_t n) { done(!error, n); });
  }
  void write(std::string_view bytes, Done done) override {
    asio::async_write(
        stream_, asio::buffer(bytes.data(), bytes.size()),
        [done = std::move(done)](error_code error, std::size_t n) { done(!error, n); });
  }
  // TLS's close_notify lets the client distinguish the end from a broken connection.
  void finish(Done done) override {
    stream_.async_shutdown([done = std::move(done)](error_code) { done(false, 0); });
  }
  void close() override { close_socket(stream_.next_layer()); }

 private:
  std::shared_ptr<asio::ssl::context> context_;
  asio::ssl::stream<Socket> stream_;
};

}  // namespace

Result<Tls> Tls::open(const std::string& certificate, const std::string& key) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  error_code error;
  // The library reports only "system lib" for unreadable files.
  for (const std::string& path : {certificate, key}) {
    if (::access(path.c_str(), R_OK) != 0) return system_error(path, errno);
  }
  context->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                           asio::ssl::context::no_tlsv1_1 | asio::ssl::context::no_compression,
                       error);
  if (!error) context->use_certificate_chain_file(certificate, error);
  if (error)
    return Error{certificate + ": not a valid certificate: " + error.message(),
                 ErrorCode::kInvalid};
  context->use_private_key_file(key, asio::ssl::context::pem, error);
  if (error)
    return Error{key + ": not the private key of the certificate: " + error.message(),
                 ErrorCode::kInvalid};
  return Tls(std::move(context));
}

struct EventLoop::Parts {
  struct Watched {
    asio::posix::stream_descriptor descriptor;
    std::function<void()> what;
  };
  struct Timer {
    asio::steady_timer timer;
    std::chrono::microseconds length;
    std::function<void()> what;
  };

  void wait_for(Watched& one) {
    one.descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                              [this, &one](error_code error) {
                                if (error || finished) return;
                                one.what();
                                wait_for(one);
                              });
  }

  void wait_for(Timer& timer) {
    timer.timer.expires_after(timer.length);
    timer.timer.async_wait([this, &timer](error_code error) {
      if (error || finished) return;
      timer.what();
      wait_for(timer);
    });
  }

  asio::io_context context{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work{
      context.get_executor()};
  std::list<Watched> watched;
  std::list<Timer> timers;
  bool finished = false;
};

EventLoop::EventLoop() : parts_(std::make_unique<Parts>()) {}
EventLoop::~EventLoop() { let_go(); }

// Releases the watched descriptors to their owners, which may close them from now on.
void EventLoop::let_go() {
  for (Parts::Watched& watched : parts_->watched) {
    if (watched.descriptor.is_open()) watched.descriptor.release();
  }
}

void EventLoop::post(std::function<void()> what) { asio::post(parts_->context, std::move(what)); }

void EventLoop::run() { parts_->context.run(); }

void EventLoop::finish() {
  parts_->finished = true;
  let_go();
  for (Parts::Timer& timer : parts_->timers) timer.timer.cancel();
  parts_->work.reset();
}

void EventLoop::when_readable(int fd, std::function<void()> what) {
  parts_->watched.push_back({asio::posix::stream_descriptor(parts_->context, fd), std::move(what)});
  parts_->wait_for(parts_->watched.back());
}

void EventLoop::every(Duration length, std::function<void()> what) {
  parts_->timers.push_back({asio::steady_timer(parts_->context),
                            std::chrono::microseconds(length.us()), std::move(what)});
  parts_->wait_for(parts_->timers.back());
}

std::unique_ptr<ByteStream> EventLoop::plain_wire(Fd socket) {
  return std::make_unique<PlainWire>(socket_of(parts_->context, std::move(socket)));
}

std::unique_ptr<ByteStream> EventLoop::tls_wire(Fd socket, const Tls& tls) {
  return std::make_unique<TlsWire>(socket_of(parts_->context, std::move(socket)),
                                   std::static_pointer_cast<asio::ssl::context>(tls.context_));
}

}  // namespace muster
