#pragma once

// One client: reads its requests one after the other, finds out who it is, asks the manager, and
// writes the answers. Bounded in time and memory whatever the other end does. Made by ApiServer;
// lives on its thread, as long as the wire or somebody's answer needs it.

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/auth.h"
#include "api/feed.h"
#include "api/figures.h"
#include "api/http_reader.h"
#include "api/loop.h"
#include "api/routes.h"
#include "api/service.h"

namespace muster {

struct ConnectionLimits {
  HttpLimits http;
  Duration request_time = Duration::seconds(10);  // From a request's first byte to its last.
  Duration idle_time = Duration::seconds(60);     // Between requests.
  Duration answer_time = Duration::seconds(60);   // For the manager.
  Duration write_time = Duration::seconds(30);    // For the other end to take a piece.
  Duration heartbeat = Duration::seconds(15);     // Between signs of life in a stream of events.
  std::size_t queue_bytes = 1U << 20U;            // Of a stream, for an end that reads slowly.
};

// What all connections share. Outlives them, but for the loop, which late answers keep.
struct ConnectionHouse {
  std::shared_ptr<Loop> loop;
  Service* service = nullptr;
  Auth* auth = nullptr;
  Figures* figures = nullptr;
  ConnectionLimits limits;
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
  void answer(int status, std::string_view body, std::string_view content_type,
              std::string_view headers);
  void answer(const Problem& problem);
  void write(std::string text, void (Connection::*then)());
  void answered();
  void leave();
  void send_pending();
  void count(int status);
  void set_deadline(Duration length);
  void out_of_time();

  void ask(Call call, std::function<void(Answer)> then) override;
  void refuse(Answer answer) override;
  void begin(std::string headers, std::optional<std::uint64_t> length) override;
  void put(std::string_view bytes) override;
  void end() override;
  std::size_t pending() const override { return pending_.size() + writing_.size(); }
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
  bool admitted_ = false;
  bool told_to_continue_ = false;
  bool keep_alive_ = false;
  bool without_body_ = false;
  std::uint64_t serial_ = 0;  // Of requests: an answer to an earlier one comes too late.
  std::optional<std::size_t> route_;

  std::unique_ptr<Feed> feed_;
  std::string writing_;                    // On the wire now.
  std::string pending_;                    // Goes next.
  std::optional<std::uint64_t> promised_;  // Bytes still to come by Content-Length.
  bool ending_ = false;
  std::size_t drained_bytes_ = 0;
  Clock::time_point last_put_;
};

}  // namespace muster
