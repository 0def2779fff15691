#include "api/server/connection.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "api/port/error_answer.h"
#include "api/port/openapi.h"
#include "api/server/event_feed.h"
#include "api/server/http_text.h"
#include "api/server/log_feed.h"
#include "base/types/check.h"

namespace muster {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kMetricsText = "text/plain; version=0.0.4; charset=utf-8";
constexpr Duration kDrainTime = Duration::seconds(2);
constexpr std::size_t kMaxDrainBytes = 64U << 20U;
constexpr std::size_t kMaxFeedInput = 64U << 10U;  // A client of a stream should send nothing.
constexpr std::size_t kWritePiece = 256U << 10U;

// The dashboard's files need no authentication: they contain no data.
const DashFile* file_of(const HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") return nullptr;
  const std::string_view target = request.target;
  return find_dash_file(target.substr(0, target.find('?')));
}

std::chrono::microseconds micros(Duration length) { return std::chrono::microseconds(length.us()); }

}  // namespace

Connection::Connection(ConnectionContext& context, std::unique_ptr<ByteStream> wire, Peer peer)
    : context_(context),
      wire_(std::move(wire)),
      peer_(std::move(peer)),
      reader_(context.limits.http) {}

void Connection::start() {
  set_deadline(context_.limits.request_time);
  wire_->start_tls_handshake([self = shared_from_this()](bool ok, std::size_t) {
    if (self->closed()) return;
    if (!ok) return self->close();
    self->state_ = State::kReading;
    self->read_more();
  });
}

void Connection::turn_away() {
  context_.figures->count_turned_away();
  record_refusal(Error{"too many connections", ErrorCode::kBusy}, {});
  wire_->start_tls_handshake([self = shared_from_this()](bool ok, std::size_t) {
    if (self->closed()) return;
    if (!ok) return self->close();
    self->answer(Error{"too many connections", ErrorCode::kBusy});
  });
  set_deadline(kDrainTime);
}

void Connection::set_deadline(Duration length) { deadline_ = Clock::now() + micros(length); }

void Connection::read_more() {
  if (read_under_way_) return;
  read_under_way_ = true;
  wire_->read(room_, [self = shared_from_this()](bool ok, std::size_t bytes) {
    self->read_under_way_ = false;
    if (!self->closed()) self->on_read(ok, bytes);
  });
}

void Connection::on_read(bool ok, std::size_t bytes) {
  if (!ok) return close();
  // The request timed out and is being rejected; ignore its remaining bytes.
  if (state_ == State::kAnswering) return;
  if (state_ == State::kDraining || state_ == State::kFeeding) {
    drained_bytes_ += bytes;
    if (drained_bytes_ > (state_ == State::kFeeding ? kMaxFeedInput : kMaxDrainBytes)) close();
    return closed() ? void() : read_more();
  }
  if (!reader_.begun()) set_deadline(context_.limits.request_time);
  reader_.feed({room_.data(), bytes});
  go_on();
}

// Processes the input read so far.
void Connection::go_on() {
  using Reading = HttpReader::State;
  if (reader_.state() == Reading::kBroken) {
    return answer(Problem(reader_.status(), {reader_.trouble(), error_code_of(reader_.status())}));
  }
  if (reader_.state() == Reading::kHead) return read_more();
  if (!admitted_ && !admit()) return;
  if (reader_.state() == Reading::kWhole) return serve();
  if (!reader_.head().expects_continue || std::exchange(told_to_continue_, true)) {
    return read_more();
  }
  state_ = State::kAnswering;
  write("HTTP/1.1 100 Continue\r\n\r\n", &Connection::read_body);
}

void Connection::read_body() {
  state_ = State::kReading;
  set_deadline(context_.limits.request_time);
  read_more();
}

// Runs before the body is read, so that unauthorized callers cannot send one.
bool Connection::admit() {
  const HttpRequest& head = reader_.head();
  admitted_ = true;
  without_body_ = head.method == "HEAD";
  began_ = Clock::now();
  if (peer_.over_tcp) caller_.reset();  // A proxy sends requests of several users.
  if (MaybeError refusal = context_.auth->check_origin(peer_, head)) {
    record_refusal(*refusal, asked_call(head));
    return answer(*refusal), false;
  }
  const bool is_recent = began_ - last_look_ < micros(context_.limits.rights_time);
  if (caller_ && is_recent) return true;
  Result<Caller> found = context_.auth->caller(peer_, head);
  if (found.ok()) {
    caller_ = std::move(found).value();
    last_look_ = began_;
    shown_.authorization = head.authorization;
    return true;
  }
  caller_.reset();
  if (is_open_to_all(head.target) || file_of(head) != nullptr) return true;
  record_refusal(found.error(), asked_call(head));
  return answer(found.error()), false;
}

void Connection::serve() {
  const HttpRequest request = reader_.take();
  keep_alive_ = request.keep_alive;
  began_ = Clock::now();
  if (const DashFile* file = file_of(request)) return answer_file(*file);
  std::variant<Routed, Problem> found = find_route(request);
  if (const auto* problem = std::get_if<Problem>(&found)) {
    // A change that is not even well-formed is a refusal too, such as a priority out of bounds.
    AskedCall asked = asked_call(request);
    if (caller_ && request.method == "POST" && asked.call != PlanJob::kInfo.name) {
      record_refusal(problem->error, std::move(asked));
    }
    return answer(*problem);
  }
  start_call(std::move(std::get<Routed>(found)));
}

void Connection::answer_file(const DashFile& file) {
  answer(200, file.gzip, file.content_type, dash_headers());
}

void Connection::start_call(Routed routed) {
  state_ = State::kAsking;
  route_ = routed.route;
  set_deadline(context_.limits.answer_time);
  switch (routed.reply) {
    case Reply::kTicket:
      return answer_ticket();
    case Reply::kLogOut:
      return answer_log_out(std::move(routed.call));
    case Reply::kOpenApi:
      return answer(200, openapi_json(), kJson, {});
    case Reply::kMetrics:
      return ask(std::move(routed.call), [this](const Answer& reply) {
        if (reply.status != 200) return answer(reply.status, reply.body, kJson, {});
        answer(200, reply.body + context_.figures->text(), kMetricsText, {});
      });
    case Reply::kAnswer:
      return ask(std::move(routed.call),
                 [this](const Answer& reply) { answer(reply.status, reply.body, kJson, {}); });
    case Reply::kLog:
      feed_ = log_page(*this, std::get<FindLog>(routed.call), routed.offset, routed.limit);
      break;
    case Reply::kFollowLog:
      feed_ = follow_log(*this, std::get<FindLog>(routed.call), routed.offset);
      break;
    case Reply::kFollowEvents:
      feed_ = follow_events(*this, std::get<ListEvents>(routed.call));
      break;
  }
  feed_->start();
}

void Connection::ask(Call call, std::function<void(Answer)> then) {
  const std::weak_ptr<Connection> self = weak_from_this();
  auto done = [self, loop = context_.loop, serial = serial_, then = std::move(then)](Answer reply) {
    loop->post([self, serial, then, reply = std::move(reply)]() mutable {
      const std::shared_ptr<Connection> alive = self.lock();
      if (alive && !alive->closed() && alive->serial_ == serial) then(std::move(reply));
    });
  };
  context_.service->call(caller_.value_or(Caller{}), std::move(call), std::move(done));
}

void Connection::answer(const Problem& problem) {
  const bool whole = reader_.state() == HttpReader::State::kWhole;
  if (!whole) keep_alive_ = false;
  const std::string allow = problem.allow.empty() ? "" : "Allow: " + problem.allow + "\r\n";
  answer(problem.status, error_json(problem.error), kJson, allow);
}

void Connection::answer(int status, std::string_view body, std::string_view content_type,
                        std::string_view headers) {
  // A slow client holds the answer in memory for long, so the total of large answers is limited.
  if (peer_.over_tcp && body.size() > kWritePiece && !without_body_) {
    const std::string user = caller_ ? caller_->user : "";
    const auto used = context_.large_of.find(user);
    const std::size_t has = used == context_.large_of.end() ? 0 : used->second;
    if (context_.large_bytes + body.size() > context_.limits.large_bytes ||
        (has > 0 && has + body.size() > context_.limits.large_bytes / 4)) {
      return answer(
          Error{"too many large answers are being sent; retry later", ErrorCode::kUnavailable});
    }
    large_ = body.size();
    large_user_ = user;
    context_.large_bytes += large_;
    context_.large_of[user] = has + large_;
  }
  ++serial_;
  count(status);
  state_ = State::kAnswering;
  std::string text = head_text({status, content_type, body.size(), headers, keep_alive_});
  if (!without_body_) text += body;
  write(std::move(text), &Connection::answered);
}

void Connection::count(int status) {
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  const Route* route = route_ ? &routes()[*route_] : nullptr;
  context_.figures->count(route != nullptr ? route->method : "other",
                          route != nullptr ? route->path : "other", status,
                          admitted_ ? seconds : 0);
}

void Connection::write(std::string text, void (Connection::*then)()) {
  writing_ = std::move(text);
  written_ = 0;
  then_ = then;
  write_piece();
}

// Each piece has its own time limit, so a slow client that reads steadily gets the whole answer.
void Connection::write_piece() {
  set_deadline(context_.limits.write_time);
  const std::string_view piece = std::string_view(writing_).substr(written_, kWritePiece);
  wire_->write(piece, [self = shared_from_this()](bool ok, std::size_t bytes) {
    if (self->closed()) return;
    if (!ok) return self->close();
    self->written_ += bytes;
    if (self->written_ < self->writing_.size()) return self->write_piece();
    self->writing_ = std::string();  // Not clear(), which would keep the memory.
    self->written_ = 0;
    self->let_large_go();
    (self.get()->*self->then_)();
  });
}

void Connection::let_large_go() {
  if (large_ == 0) return;
  const auto used = context_.large_of.find(large_user_);
  used->second -= large_;
  if (used->second == 0) context_.large_of.erase(used);
  context_.large_bytes -= std::exchange(large_, 0);
}

// The answer is sent. The reader may already hold the next request.
void Connection::answered() {
  if (!keep_alive_) return leave();
  feed_.reset();
  promised_.reset();
  route_.reset();
  ending_ = admitted_ = told_to_continue_ = without_body_ = keep_alive_ = false;
  ++serial_;
  state_ = State::kReading;
  reader_.next();
  set_deadline(reader_.begun()        ? context_.limits.request_time
               : is_unauthenticated() ? context_.limits.unauthenticated_idle_time
                                      : context_.limits.idle_time);
  go_on();
}

// Closing a socket with unread input may discard the answer before the client reads it.
void Connection::leave() {
  state_ = State::kDraining;
  drained_bytes_ = 0;
  set_deadline(kDrainTime);
  wire_->finish([self = shared_from_this()](bool readable, std::size_t) {
    if (self->closed()) return;
    readable ? self->read_more() : self->close();
  });
}

void Connection::close() {
  if (closed()) return;
  state_ = State::kClosed;
  ++serial_;
  let_large_go();
  wire_->close();
}

void Connection::tick(Clock::time_point now) {
  if (closed()) return;
  if (deadline_ && now >= *deadline_) return out_of_time();
  if (state_ != State::kFeeding) return;
  if (now - last_look_ >= micros(context_.limits.rights_time)) {
    last_look_ = now;
    if (!still_may()) return close();
  }
  if (!promised_ && !ending_ && now - last_put_ >= micros(context_.limits.heartbeat)) put(":\n\n");
  feed_->tick();
}

// During a stream, a token can be revoked, a ticket can expire, and a user can leave a group.
bool Connection::still_may() {
  const Result<Caller> found = context_.auth->caller(peer_, shown_);
  if (!found.ok() || found.value().user != caller_->user ||
      found.value().is_operator != caller_->is_operator) {
    return false;
  }
  const auto& now = found.value().rights;
  return now == caller_->rights || (now && caller_->rights && *now == *caller_->rights);
}

void Connection::out_of_time() {
  if (state_ == State::kReading && reader_.begun()) {
    return answer(Problem(408, {"the request was not received in time", ErrorCode::kUnavailable}));
  }
  if (state_ == State::kAsking) {
    keep_alive_ = false;
    return answer(Error{"the manager did not answer in time", ErrorCode::kUnavailable});
  }
  close();
}

void Connection::on_events(const Notes& news) {
  if (feed_ && !closed()) feed_->on_events(news);
}

void Connection::refuse(Answer reply) { answer(reply.status, reply.body, kJson, {}); }

void Connection::begin(std::string headers, std::optional<std::uint64_t> length) {
  MUSTER_CHECK(state_ == State::kAsking);
  count(200);
  state_ = State::kFeeding;
  promised_ = without_body_ ? 0 : length;
  ending_ = without_body_;
  if (!length) keep_alive_ = false;
  last_put_ = Clock::now();
  drained_bytes_ = 0;
  const std::string_view type = length ? "text/plain; charset=utf-8" : "text/event-stream";
  pending_ = head_text({200, type, length, headers, keep_alive_});
  send_pending();
  // Only a pending read detects that the client of a stream has disconnected.
  if (!length) read_more();
}

void Connection::put(std::string_view bytes) {
  if (state_ != State::kFeeding || ending_) return;
  last_put_ = Clock::now();
  if (promised_) *promised_ -= bytes.size();
  pending_ += bytes;
  if (pending_.size() > context_.limits.queue_bytes) return close();
  if (writing_.empty()) send_pending();
}

void Connection::end() {
  if (state_ != State::kFeeding) return;
  ending_ = true;
  // Posted, because answered() destroys the feed that calls this function.
  context_.loop->post([self = shared_from_this()] {
    if (self->state_ == State::kFeeding && self->writing_.empty()) self->send_pending();
  });
}

void Connection::send_pending() {
  if (pending_.empty()) {
    deadline_.reset();
    if (!ending_) return feed_->drained();
    if (promised_.value_or(0) > 0) keep_alive_ = false;
    return answered();
  }
  write(std::exchange(pending_, {}), &Connection::send_pending);
}

}  // namespace muster
