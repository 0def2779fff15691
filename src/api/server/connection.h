#pragma once

// One client: reads its requests one after the other, finds out who it is, asks the manager, and
// writes the answers. Bounded in time and memory whatever the other end does. Made by ApiServer;
// lives on its thread, as long as the wire or somebody's answer needs it.

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
#include "api/server/feed.h"
#include "api/server/figures.h"
#include "api/server/http_reader.h"
#include "api/server/loop.h"
#include "api/web/dash.h"

namespace muster {

struct ConnectionLimits {
  HttpLimits http;
  Duration request_time = Duration::seconds(10);  // From a request's first byte to its last.
  Duration idle_time = Duration::seconds(60);     // Between requests.
  Duration answer_time = kAnswerTime;             // For the manager.
  Duration write_time = Duration::seconds(30);    // For the other end to take a piece of 256 KiB.
  Duration stranger_time = Duration::seconds(5);  // Between requests of who showed no token.
  Duration heartbeat = Duration::seconds(15);     // Between signs of life in a stream of events.
  Duration rights_time = Duration::seconds(15);   // Between looks at whether its reader still may.
  std::size_t queue_bytes = 1U << 20U;            // Of a stream, for an end that reads slowly.
  // Of answers longer than a piece over TCP, all together. No user has more than a quarter, but for
  // one answer.
  std::size_t large_bytes = 256U << 20U;
};

// What all connections share. Outlives them, but for the loop, which late answers keep.
struct ConnectionHouse {
  std::shared_ptr<Loop> loop;
  Service* service = nullptr;
  Auth* auth = nullptr;
  Figures* figures = nullptr;
  std::string url;  // Of the page; empty: there is no address for browsers.
  ConnectionLimits limits;
  std::size_t large_bytes = 0;                  // Of answers that are on their way, see the limits;
  std::map<std::string, std::size_t> large_of;  // and by user.
};

class Connection final : public std::enable_shared_from_this<Connection>, private Outlet {
 public:
  using Clock = std::chrono::steady_clock;

  Connection(ConnectionHouse& house, std::unique_ptr<Wire> wire, Peer peer);

  void start();
  void turn_away();  // Instead of start(): there are too many.
  void tick(Clock::time_point now);
  void hear(const Notes& news);
  void close();

  bool closed() const { return state_ == State::kClosed; }
  const Peer& peer() const { return peer_; }
  // Whoever comes by TCP and has shown no token may be anybody.
  bool stranger() const { return peer_.over_tcp && !caller_; }
  const std::string* user() const { return caller_ ? &caller_->user : nullptr; }

 private:
  enum class State : std::uint8_t {
    kShaking,    // Hands.
    kReading,    // A request, or waiting for one.
    kAsking,     // The manager.
    kAnswering,  // In one piece.
    kFeeding,    // Piece by piece.
    kDraining,   // Answered; reads what still comes so that the answer is not lost.
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

  ConnectionHouse& house_;
  std::unique_ptr<Wire> wire_;
  Peer peer_;
  State state_ = State::kShaking;
  HttpReader reader_;
  std::array<char, 16U << 10U> room_{};
  bool read_under_way_ = false;
  std::optional<Clock::time_point> deadline_;
  Clock::time_point began_;  // The request's whole reading.

  std::optional<Caller> caller_;  // Of the request; on a Unix socket, of all.
  HttpRequest shown_;             // What the caller was known by.
  bool admitted_ = false;
  bool told_to_continue_ = false;
  bool keep_alive_ = false;
  bool without_body_ = false;
  std::uint64_t serial_ = 0;  // Of requests: an answer to an earlier one comes too late.
  std::optional<std::size_t> route_;

  std::unique_ptr<Feed> feed_;
  std::string writing_;                    // On the wire now,
  std::size_t written_ = 0;                // as far as this.
  void (Connection::*then_)() = nullptr;   // Once it is.
  std::size_t large_ = 0;                  // Its part of the house's large_bytes,
  std::string large_user_;                 // and of whose.
  std::string pending_;                    // Goes next.
  std::optional<std::uint64_t> promised_;  // Bytes still to come by Content-Length.
  bool ending_ = false;
  std::size_t drained_bytes_ = 0;
  Clock::time_point last_put_;
  Clock::time_point last_look_;  // At the rights of whom is fed.
};

}  // namespace muster
