#include "api/server/server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "api/server/event_loop.h"
#include "api/server/listen.h"

namespace muster {
namespace {

constexpr Duration kTick = Duration::micros(200'000);
constexpr int kTicksPerTokenLook = 10;

// Maximum number of rejected connections that get an answer; others are just closed.
constexpr std::size_t kMaxTurnedAway = 32;

MaybeError check_settings(const ServerSettings& settings) {
  if (settings.certificate.empty() != settings.key.empty()) {
    return Error{"set both the certificate and its key, or neither", ErrorCode::kInvalid};
  }
  if (settings.tcp_address.empty()) return std::nullopt;
  if (settings.token_file.empty() && !settings.ticket_key) {
    return Error{"TCP requires a token file", ErrorCode::kInvalid};
  }
  const Result<ListenAddress> address = read_tcp_address(settings.tcp_address);
  if (!address.ok()) return address.error();
  if (settings.certificate.empty() && !address.value().loopback && !settings.plain_tcp) {
    return Error{settings.tcp_address +
                     ": tokens would be sent over the network unencrypted; set a "
                     "certificate, or listen on 127.0.0.1",
                 ErrorCode::kInvalid};
  }
  return std::nullopt;
}

bool same_place(const Peer& a, const Peer& b) {
  return a.over_tcp == b.over_tcp && a.uid == b.uid && a.place() == b.place();
}

// Tokens and TLS settings of the TCP listener.
struct Keys {
  std::optional<TokenFile> tokens;
  std::optional<Tls> tls;
};

Result<Keys> read_keys(const ServerSettings& settings) {
  Keys keys;
  if (!settings.token_file.empty()) {
    Result<TokenFile> file = TokenFile::open(settings.token_file);
    if (!file.ok()) return file.error();
    keys.tokens = std::move(file.value());
  }
  if (!settings.certificate.empty()) {
    Result<Tls> made = Tls::open(settings.certificate, settings.key);
    if (!made.ok()) return made.error();
    keys.tls = std::move(made.value());
  }
  return keys;
}

}  // namespace

struct ApiServer::Parts {
  Parts(ServerSettings given, std::optional<Tls> how)
      : settings(std::move(given)), tls(std::move(how)) {}

  MaybeError open_socket();
  MaybeError open_tcp();
  void serve();
  void accept_all(int listener, bool tcp);
  void take(Fd socket, bool tcp);
  bool is_crowded(const Peer& peer) const;
  bool is_full(const Peer& peer) const;
  bool make_room(const Peer& peer);
  void record_token_changes();
  void tick();
  void stop();

  ServerSettings settings;
  std::optional<UnixListener> unix_listener;
  Fd tcp_listener;
  std::optional<Tls> tls;
  std::optional<Auth> auth;
  std::string url;
  std::string tcp_trouble;
  ServerMetrics figures;
  ConnectionContext context;
  std::vector<std::shared_ptr<Connection>> connections;
  std::vector<std::shared_ptr<Connection>> turned_away;
  int ticks = 0;
  std::thread thread;
};

MaybeError ApiServer::Parts::open_socket() {
  if (settings.socket_path.empty()) return std::nullopt;
  // The kernel identifies each caller; the mode only excludes users who may not call at all.
  Result<UnixListener> listener =
      UnixListener::open(settings.socket_path, settings.auth.others ? 0666 : 0600);
  if (!listener.ok()) return listener.error();
  unix_listener.emplace(std::move(listener.value()));
  return std::nullopt;
}

MaybeError ApiServer::Parts::open_tcp() {
  if (settings.tcp_address.empty()) return std::nullopt;
  ListenAddress address = read_tcp_address(settings.tcp_address).value();
  Result<Fd> listener = listen_tcp(address);
  if (!listener.ok() && settings.or_any_port) {
    address.port = 0;
    listener = listen_tcp(address);
    if (!listener.ok()) {  // For example, no loopback interface.
      tcp_trouble = listener.error().message;
      return std::nullopt;
    }
  }
  if (!listener.ok()) return listener.error();
  tcp_listener = std::move(listener.value());
  const bool v6 = address.host.find(':') != std::string::npos;
  std::string host = address.host;
  if (host == "0.0.0.0" || host == "::") {  // Wildcard address, not usable in a URL.
    host = settings.auth.hosts.empty() ? host_name() : settings.auth.hosts.front();
  }
  if (v6 && host == address.host) host = "[" + host + "]";
  url = fmt::format("{}://{}:{}/", tls ? "https" : "http", host, port_of(tcp_listener));
  return std::nullopt;
}

void ApiServer::Parts::serve() {
  EventLoop& loop = *context.loop;
  if (unix_listener) {
    loop.when_readable(unix_listener->get(), [this] { accept_all(unix_listener->get(), false); });
  }
  if (tcp_listener.open()) {
    loop.when_readable(tcp_listener.get(), [this] { accept_all(tcp_listener.get(), true); });
  }
  loop.every(kTick, [this] { tick(); });
  thread = std::thread([this] { context.loop->run(); });
}

// Accepts a limited number at a time, so that open connections are served in between.
void ApiServer::Parts::accept_all(int listener, bool tcp) {
  for (int i = 0; i < 64; ++i) {
    Fd socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.open()) {
      take(std::move(socket), tcp);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return;
  }
}

bool ApiServer::Parts::is_crowded(const Peer& peer) const {
  const auto count = std::count_if(connections.begin(), connections.end(), [&](const auto& other) {
    return same_place(other->peer(), peer);
  });
  return static_cast<std::size_t>(count) >= settings.max_per_peer;
}

bool ApiServer::Parts::is_full(const Peer& peer) const {
  if (connections.size() >= settings.max_connections) return true;
  // Any client can open TCP connections, so a quarter of all connections is reserved for the Unix
  // socket.
  const auto by_tcp = std::count_if(connections.begin(), connections.end(),
                                    [](const auto& one) { return one->peer().over_tcp; });
  if (peer.over_tcp && static_cast<std::size_t>(by_tcp) * 4 >= settings.max_connections * 3) {
    return true;
  }
  return is_crowded(peer);
}

// Prevents a client from blocking others. A new TCP connection replaces the oldest connection
// without a valid token. If there is none, it replaces the oldest one of a user who has more than
// half of all connections.
bool ApiServer::Parts::make_room(const Peer& peer) {
  if (!peer.over_tcp) return false;
  const bool crowded =
      is_crowded(peer);  // Then only connections from the same address are replaced.
  const auto may_go = [&](const Connection& one) {
    return one.peer().over_tcp && (!crowded || same_place(one.peer(), peer));
  };
  auto oldest = std::find_if(connections.begin(), connections.end(), [&](const auto& one) {
    return one->is_unauthenticated() && may_go(*one);
  });
  if (oldest == connections.end()) {
    std::map<std::string, std::size_t> of_user;
    for (const auto& one : connections) {
      if (one->user() != nullptr && may_go(*one)) ++of_user[*one->user()];
    }
    const std::size_t most = crowded ? settings.max_per_peer : settings.max_connections;
    oldest = std::find_if(connections.begin(), connections.end(), [&](const auto& one) {
      return one->user() != nullptr && may_go(*one) && of_user[*one->user()] * 2 > most;
    });
  }
  if (oldest == connections.end()) return false;
  (*oldest)->close();
  connections.erase(oldest);
  return !is_full(peer);
}

void ApiServer::Parts::take(Fd socket, bool tcp) {
  Result<Peer> peer = peer_of(socket.get());
  if (!peer.ok()) return;  // Already disconnected.
  if (tcp) {
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  std::erase_if(connections, [](const auto& one) { return one->closed(); });
  std::erase_if(turned_away, [](const auto& one) { return one->closed(); });
  const bool full = is_full(peer.value()) && !make_room(peer.value());
  if (full && turned_away.size() >= kMaxTurnedAway) return figures.count_turned_away();
  std::unique_ptr<ByteStream> wire = tcp && tls ? context.loop->tls_wire(std::move(socket), *tls)
                                                : context.loop->plain_wire(std::move(socket));
  auto connection = std::make_shared<Connection>(context, std::move(wire), std::move(peer.value()));
  (full ? turned_away : connections).push_back(connection);
  full ? connection->turn_away() : connection->start();
  figures.set_connections(connections.size());
}

// Reports changes of the token file, also while no caller uses a token.
void ApiServer::Parts::record_token_changes() {
  for (const TokenChange& change : auth->token_changes()) {
    const TokenFacts& token = change.token;
    const std::string role = token.is_operator ? "operator" : "user";
    context.service->record(
        {.caller = {.user = user_name(change.by), .uid = change.by, .via = "token file"},
         .call = change.created ? "createToken" : "revokeToken",
         .object = "token " + token.name,
         .status = 200,
         .answer = fmt::format("{} {}, fingerprint {}", role, token.user, token.fingerprint)});
  }
}

void ApiServer::Parts::tick() {
  if (++ticks % kTicksPerTokenLook == 0) record_token_changes();
  const auto now = Connection::Clock::now();
  for (auto* list : {&connections, &turned_away}) {
    for (const auto& connection : *list) connection->tick(now);
    std::erase_if(*list, [](const auto& one) { return one->closed(); });
  }
  figures.set_connections(connections.size());
}

void ApiServer::Parts::stop() {
  context.loop->finish();
  for (auto* list : {&connections, &turned_away}) {
    for (const auto& connection : *list) connection->close();
    list->clear();
  }
}

ApiServer::ApiServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

MaybeError ApiServer::check(const ServerSettings& settings) {
  if (MaybeError refusal = check_settings(settings)) return refusal;
  if (const Result<Keys> keys = read_keys(settings); !keys.ok()) return keys.error();
  const bool tickets = !settings.tcp_address.empty() && settings.ticket_key;
  if (tickets && Tickets::has_key(*settings.ticket_key)) {
    if (const Result<Tickets> key = Tickets::open(*settings.ticket_key, ""); !key.ok()) {
      return key.error();
    }
  }
  return settings.socket_path.empty() ? std::nullopt : check_socket_path(settings.socket_path);
}

Result<std::unique_ptr<ApiServer>> ApiServer::open(ServerSettings settings, Service& service) {
  if (MaybeError refusal = check_settings(settings)) return *refusal;
  Result<Keys> keys = read_keys(settings);
  if (!keys.ok()) return keys.error();
  // With TLS, the browser compares the certificate with the host name, which prevents DNS
  // rebinding.
  if (keys.value().tls) settings.auth.any_host = true;
  auto parts = std::make_unique<Parts>(std::move(settings), std::move(keys.value().tls));
  if (MaybeError refusal = parts->open_socket()) return *refusal;
  if (MaybeError refusal = parts->open_tcp()) return *refusal;
  std::optional<Tickets> tickets;
  if (parts->settings.ticket_key && !parts->url.empty()) {
    Result<Tickets> opened = Tickets::open(*parts->settings.ticket_key, parts->url);
    if (!opened.ok()) return opened.error();
    tickets = std::move(opened.value());
  }
  parts->auth.emplace(parts->settings.auth, std::move(keys.value().tokens), std::move(tickets));
  for (const auto& [uid, generation] : service.ticket_generations()) {
    parts->auth->set_ticket_generation(uid, generation);
  }
  parts->context.loop = std::make_shared<EventLoop>();
  parts->context.service = &service;
  parts->context.auth = &*parts->auth;
  parts->context.figures = &parts->figures;
  parts->context.url = parts->url;
  parts->context.limits = parts->settings.limits;
  Parts* const server = parts.get();
  service.watch([server, loop = parts->context.loop](Notes news) {
    loop->post([server, news = std::move(news)] {
      for (const auto& connection : server->connections) connection->on_events(news);
    });
  });
  parts->serve();
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(parts)));
}

void ApiServer::stop() {
  if (!parts_->thread.joinable()) return;
  parts_->context.service->watch({});
  parts_->context.loop->post([this] { parts_->stop(); });
  parts_->thread.join();
  if (parts_->unix_listener) parts_->unix_listener->close();
  parts_->tcp_listener.reset();
}

ApiServer::~ApiServer() { stop(); }

const std::string& ApiServer::url() const { return parts_->url; }

const std::string& ApiServer::tcp_trouble() const { return parts_->tcp_trouble; }

std::string ApiServer::url_for(const std::string& user, std::int64_t seconds) const {
  const bool own = user == user_name(::geteuid());  // It may be a number, without an account.
  const Tickets::Owner owner{own ? ::geteuid() : uid_of(user), user};
  return parts_->url + "#ticket=" + parts_->auth->make_ticket(owner, seconds).ticket;
}

std::uint16_t ApiServer::tcp_port() const {
  return parts_->tcp_listener.open() ? port_of(parts_->tcp_listener) : 0;
}

}  // namespace muster
