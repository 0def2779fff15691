#pragma once

// One client connection. It reads requests one at a time, authenticates them, calls the manager and
// writes the answers. Time and memory are bounded for any client behavior. ApiServer creates it and
// calls it on the server's thread. Pending reads, writes and calls keep it alive.

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/port/routes.h"
#include "api/port/service.h"
#include "api/server/auth.h"
#include "api/server/event_loop.h"
#include "api/server/feed.h"
#include "api/server/http_reader.h"
#include "api/server/server_metrics.h"
#include "api/web/dash.h"

namespace muster {

struct ConnectionLimits {
  HttpLimits http;
  Duration request_time = Duration::seconds(10);  // From the first byte of a request to its last.
  Duration idle_time = Duration::seconds(60);     // Between requests.
  Duration answer_time = kAnswerTime;             // For the manager's answer.
  Duration write_time = Duration::seconds(30);    // For the client to accept 256 KiB.
  Duration unauthenticated_idle_time = Duration::seconds(5);  // Idle time without a token.
  Duration heartbeat = Duration::seconds(15);   // Interval of heartbeats in event streams.
  Duration rights_time = Duration::seconds(3);  // Interval of checks of streams and Unix sockets.
  std::size_t queue_bytes = 1U << 20U;          // Maximum unsent bytes per stream.
  // Maximum total bytes of answers over TCP that are larger than 256 KiB. A user may have at most a
  // quarter of it, or one answer of any size.
  std::size_t large_bytes = 256U << 20U;
};

// State shared by all connections; outlives them. Late answers share ownership of the loop.
struct ConnectionContext {
  std::shared_ptr<EventLoop> loop;
  Service* service = nullptr;
  Auth* auth = nullptr;
  ServerMetrics* figures = nullptr;
  std::string url;  // URL of the dashboard; empty: no TCP address.
  ConnectionLimits limits;
  std::size_t large_bytes = 0;                  // Large answers being sent (see ConnectionLimits),
  std::map<std::string, std::size_t> large_of;  // and per user.
};

class Connection final : public std::enable_shared_from_this<Connection>, private ResponseWriter {
 public:
  using Clock = std::chrono::steady_clock;

  Connection(ConnectionContext& context, std::unique_ptr<ByteStream> wire, Peer peer);

  void start();
  void turn_away();  // Instead of start(): answers that there are too many connections.
  // ApiServer calls this every 200 ms: enforces time limits and sends heartbeats.
  void tick(Clock::time_point now);
  void on_events(const Notes& news);
  void close();

  bool closed() const { return state_ == State::kClosed; }
  const Peer& peer() const { return peer_; }
  // Returns whether this is a TCP connection without a valid token so far.
  bool is_unauthenticated() const { return peer_.over_tcp && !caller_; }
  const std::string* user() const { return caller_ ? &caller_->user : nullptr; }

 private:
  enum class State : std::uint8_t {
    kTlsHandshake,
    kReading,    // Reads a request, or waits for one.
    kAsking,     // Waits for the manager.
    kAnswering,  // Writes a complete answer.
    kFeeding,    // A feed produces the answer in pieces.
    kDraining,   // Answered; discards input so that the client still receives the answer.
    kClosed,
  };

  void read_more();
  void on_read(bool ok, std::size_t bytes);
  void go_on();
  void read_body();
  bool admit();
  void serve();
  void start_call(Routed routed);
  void answer_file(const DashFile& file);
  void answer_ticket();
  void answer_log_out(Call call);
  void record_refusal(const Error& error, AskedCall asked);
  void answer(int status, std::string_view body, std::string_view content_type,
              std::string_view headers);
  void answer(const Problem& problem);
  void write(std::string text, void (Connection::*then)());
  void write_piece();
  void let_large_go();
  void answered();
  void leave();
  void send_pending();
  void count(int status);
  void set_deadline(Duration length);
  void out_of_time();
  bool still_may();

  void ask(Call call, std::function<void(Answer)> then) override;
  void refuse(Answer answer) override;
  void begin(std::string headers, std::optional<std::uint64_t> length) override;
  void put(std::string_view bytes) override;
  void end() override;
  std::size_t pending() const override { return pending_.size() + writing_.size() - written_; }
  const Caller& caller() const override { return *caller_; }

  ConnectionContext& context_;
  std::unique_ptr<ByteStream> wire_;
  Peer peer_;
  State state_ = State::kTlsHandshake;
  HttpReader reader_;
  std::array<char, 16U << 10U> room_{};
  bool read_under_way_ = false;
  std::optional<Clock::time_point> deadline_;
  Clock::time_point began_;  // Time when the request, or its head, was complete.

  std::optional<Caller> caller_;  // Per request; on a Unix socket, kept for `rights_time`.
  HttpRequest shown_;             // The credentials of caller_.
  bool admitted_ = false;
  bool told_to_continue_ = false;
  bool keep_alive_ = false;
  bool without_body_ = false;
  std::uint64_t serial_ = 0;  // Number of the request; answers to earlier ones are dropped.
  std::optional<std::size_t> route_;

  std::unique_ptr<Feed> feed_;
  std::string writing_;                    // Being sent.
  std::size_t written_ = 0;                // Bytes of writing_ already sent.
  void (Connection::*then_)() = nullptr;   // Called when writing_ is sent.
  std::size_t large_ = 0;                  // Bytes counted in context_.large_bytes,
  std::string large_user_;                 // and for this user.
  std::string pending_;                    // To be sent after writing_.
  std::optional<std::uint64_t> promised_;  // Remaining bytes of the announced Content-Length.
  bool ending_ = false;
  std::size_t drained_bytes_ = 0;
  Clock::time_point last_put_;
  Clock::time_point last_look_;  // Last identification of the caller.
};

}  // namespace muster
