// muster logs: what jobs print.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ostream>

#include "api/client/target.h"
#include "base/text/text.h"
#include "base/text/wording.h"
#include "cli/live/follow.h"
#include "cli/live/live_text.h"
#include "cli/live/live_verbs.h"

namespace muster {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLogPiece = 1U << 20U;
constexpr std::uint64_t kMostTail = 8U << 20U;  // The most the manager gives at a time.

struct Piece {
  std::string text;
  std::uint64_t size = 0;  // Of all there is so far.
};

std::string log_target(const std::string& id, const LogsOptions& logs, const std::string& offset,
                       std::uint64_t limit, bool follow) {
  return target("/v1/jobs/" + escaped(id) + "/log",
                {{"lease", logs.lease ? std::to_string(*logs.lease) : ""},
                 {"node", logs.node == 0 ? "" : std::to_string(logs.node)},
                 {"offset", offset},
                 {"limit", limit == 0 ? "" : std::to_string(limit)},
                 {"follow", follow ? "1" : ""}});
}

Result<Piece> read_piece(ApiClient& client, const std::string& id, const LogsOptions& logs,
                         const std::string& offset, std::uint64_t limit) {
  Result<HttpReply> reply = client.get(log_target(id, logs, offset, limit, false));
  if (!reply.ok()) return reply.error();
  if (!reply.value().ok()) return refusal_of(reply.value());
  const auto size = reply.value().headers.find("muster-log-size");
  Piece piece{std::move(reply.value().body), 0};
  const Result<std::int64_t> number =
      size == reply.value().headers.end() ? parse_int("0") : parse_int(size->second);
  piece.size = number.ok() && number.value() > 0 ? static_cast<std::uint64_t>(number.value()) : 0;
  return piece;
}

// With --json a piece of the output is an object on a line of its own.
void print_piece(const LiveOptions& options, Streams streams, const std::string& text) {
  if (text.empty()) return;
  if (options.json) {
    streams.out << json_line({{"text", text}}) << std::endl;
  } else {
    streams.out << text << std::flush;
  }
}

std::string last_lines(const std::string& text, std::uint64_t lines) {
  std::size_t at = text.size();
  if (at > 0 && text[at - 1] == '\n') --at;
  for (; lines > 0 && at > 0; --lines) {
    const std::size_t end = text.rfind('\n', at - 1);
    if (end == std::string::npos) return text;
    if (lines == 1) return text.substr(end + 1);
    at = end;
  }
  return lines == 0 ? "" : text;
}

// The last lines, looked for in more and more of the end. `size` is where they end.
Result<Piece> read_tail(ApiClient& client, const std::string& id, const LogsOptions& logs) {
  for (std::uint64_t bytes = 64U << 10U;; bytes *= 4) {
    const std::uint64_t want = std::min(bytes, kMostTail);
    Result<Piece> piece = read_piece(client, id, logs, "-" + std::to_string(want), want);
    if (!piece.ok()) return piece;
    const std::string& text = piece.value().text;
    const auto ends = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    if (ends <= *logs.tail && text.size() >= want && want < kMostTail) continue;
    piece.value().text = last_lines(text, *logs.tail);
    return piece;
  }
}

int print_output(ApiClient& client, const std::string& id, const LiveOptions& options,
                 Streams streams) {
  const LogsOptions& logs = options.logs;
  if (logs.tail) {
    const Result<Piece> piece = read_tail(client, id, logs);
    if (!piece.ok()) return complain(streams, piece.error());
    print_piece(options, streams, piece.value().text);
    return kExitDone;
  }
  for (std::uint64_t offset = 0;;) {
    const Result<Piece> piece = read_piece(client, id, logs, std::to_string(offset), kLogPiece);
    if (!piece.ok()) return complain(streams, piece.error());
    print_piece(options, streams, piece.value().text);
    offset += piece.value().text.size();
    if (piece.value().text.empty() || offset >= piece.value().size) return kExitDone;
  }
}

std::uint32_t latest_lease(const Json& job) {
  std::uint64_t latest = count_at(job, "leases_used");
  for (const Json& lease : list_at(job, "leases")) {
    latest = std::max(latest, count_at(lease, "number"));
  }
  return static_cast<std::uint32_t>(latest);
}

enum class Ended { kLease, kInterrupted, kNothingThere, kGone };

struct Followed {
  Ended how = Ended::kGone;
  std::string trouble;
};

// One lease's output, from its beginning or its last lines to its end.
Followed follow_lease(ApiClient& client, const std::string& id, const LiveOptions& options,
                      bool first, Streams streams) {
  const LogsOptions& logs = options.logs;
  std::uint64_t offset = 0;
  if (logs.tail && first) {
    const Result<Piece> tail = read_tail(client, id, logs);
    if (tail.ok()) {
      print_piece(options, streams, tail.value().text);
      offset = tail.value().size;
    }
  }
  Patience patience;
  while (true) {
    bool over = false;
    const StreamResult result = client.stream(
        log_target(id, logs, std::to_string(offset), 0, true), {},
        [&](const SseEvent& event) {
          patience.reset();
          over = event.kind == "end";
          if (over) return false;
          const Json text = Json::parse(event.data, nullptr, false);
          if (!text.is_string()) return true;
          const auto& bytes = text.get_ref<const std::string&>();
          print_piece(options, streams, bytes);
          // The manager's own count is exact even where the output is not UTF-8.
          const Result<std::int64_t> at = parse_int(event.id);
          offset = at.ok() ? static_cast<std::uint64_t>(at.value()) : offset + bytes.size();
          return true;
        },
        interrupted);
    if (over) return {Ended::kLease, ""};
    if (interrupted()) return {Ended::kInterrupted, ""};
    if (result.end == StreamEnd::kRefused && result.reply.status != 503) {
      return {Ended::kNothingThere, refusal_of(result.reply).message};
    }
    if (!patience.try_again()) {
      return {interrupted() ? Ended::kInterrupted : Ended::kGone, result.trouble};
    }
  }
}

}  // namespace

int follow_output(ApiClient& client, const std::string& name, const LiveOptions& options,
                  Streams streams) {
  using Clock = std::chrono::steady_clock;
  std::uint32_t followed = 0;  // The last lease whose output is all printed.
  Result<Json> job = job_now(client, name);
  if (!job.ok()) return complain(streams, job.error());
  const std::string id = whole_id(job.value());
  EventWatch watch(client, id);
  for (;; job = job_now(client, id)) {
    if (interrupted()) return kExitInterrupted;
    if (!job.ok()) return complain(streams, job.error());
    LiveOptions now = options;
    now.logs.lease = options.logs.lease.value_or(latest_lease(job.value()));
    const std::uint32_t lease = *now.logs.lease;
    auto look_again = Clock::time_point::max();
    if (lease > followed) {
      if (followed > 0) streams.err << fmt::format("-- lease {} --\n", lease);
      const Followed ended = follow_lease(client, id, now, followed == 0, streams);
      if (ended.how == Ended::kInterrupted) return kExitInterrupted;
      if (ended.how == Ended::kGone)
        return complain(streams, Error{ended.trouble, ErrorCode::kUnavailable});
      if (ended.how == Ended::kLease) {
        if (options.logs.lease) return kExitDone;
        followed = lease;
        continue;
      }
      if (is_over(job.value()))
        return complain(streams, Error{ended.trouble, ErrorCode::kUnavailable});
      look_again = Clock::now() + std::chrono::seconds(1);  // It has a lease, but no file yet.
    } else if (is_over(job.value())) {
      if (followed > 0) return kExitDone;
      return complain(streams, Error{"never ran: " + fate_line(job.value()), ErrorCode::kNotFound});
    }
    const auto stop = [&] { return interrupted() || Clock::now() >= look_again; };
    if (!watch.next(stop) && !stop())
      return complain(streams,
                      Error{"the manager says no more of this job", ErrorCode::kUnavailable});
  }
}

int run_logs(const LiveOptions& options, Streams streams) {
  return with_manager(options, streams, [&](ApiClient& client) {
    const std::string& id = options.names.front();
    if (!options.logs.follow) return print_output(client, id, options, streams);
    catch_interrupts();
    return follow_output(client, id, options, streams);
  });
}

}  // namespace muster
