// muster logs: prints the output of jobs.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <ostream>
#include <vector>

#include "api/client/target.h"
#include "base/text/text.h"
#include "base/text/wording.h"
#include "cli/live/answer_text.h"
#include "cli/live/follow.h"
#include "cli/live/live_verbs.h"
#include "engine/roster/placement_text.h"

namespace muster {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLogPiece = 1U << 20U;
constexpr std::uint64_t kMaxTail = 8U << 20U;  // The manager's maximum per request, in bytes.

struct Piece {
  std::string text;
  std::uint64_t size = 0;  // Size of the whole output so far, in bytes.
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

// Keeps the lines of one rank and removes their prefix. Lines without a prefix pass, because a node
// with one rank writes none.
class RankFilter {
 public:
  explicit RankFilter(std::optional<std::uint32_t> rank) : rank_(rank) {}

  // Returns what to print of the next piece of the output. Keeps the beginning of a line for the
  // next call unless `last` is true.
  std::string pass(const std::string& text, bool last) {
    if (!rank_) return text;
    left_ += text;
    std::string out;
    std::size_t begin = 0;
    for (std::size_t end = left_.find('\n'); end != std::string::npos;
         end = left_.find('\n', begin)) {
      out += line(left_.substr(begin, end + 1 - begin));
      begin = end + 1;
    }
    left_.erase(0, begin);
    if (last) out += line(std::exchange(left_, ""));
    return out;
  }

 private:
  std::string line(const std::string& text) const {
    constexpr std::string_view kPrefix = "[rank";
    const std::size_t end = text.find("]: ");
    if (!text.starts_with(kPrefix) || end == std::string::npos) return text;
    const Result<std::int64_t> rank = parse_int(text.substr(kPrefix.size(), end - kPrefix.size()));
    if (!rank.ok()) return text;
    return rank.value() == std::int64_t{*rank_} ? text.substr(end + 3) : "";
  }

  std::optional<std::uint32_t> rank_;
  std::string left_;
};

// Prints pieces of output and the headings between leases.
class LogPrinter {
 public:
  LogPrinter(const LiveOptions& options, Streams streams)
      : json_(options.json), streams_(streams) {}

  // With --json a piece of the output is an object on its own line.
  void print(const std::string& text) {
    if (text.empty()) return;
    if (json_) {
      streams_.out << json_line({{"text", text}}) << std::endl;
    } else {
      streams_.out << text << std::flush;
      in_line_ = text.back() != '\n';
    }
  }
  void print_heading(std::uint32_t lease) {
    if (json_) {
      streams_.out << json_line({{"lease", lease}}) << std::endl;
    } else {
      streams_.out << fmt::format("{}-- lease {} --\n", in_line_ ? "\n" : "", lease) << std::flush;
      in_line_ = false;
    }
  }

 private:
  bool json_;
  Streams streams_;
  bool in_line_ = false;  // The last output has no newline at its end.
};

// Returns the index of the node on which the rank runs: ranks are numbered node by node.
Result<std::uint32_t> node_of_rank(const Json& job, std::uint32_t rank) {
  std::string where = text_at(job, "where");
  for (const Json& lease : list_at(job, "leases")) where = text_at(lease, "where");
  const auto request = job.find("request");
  const bool per_gpu = request != job.end() && text_at(*request, "launch_per") == "gpu";
  std::uint32_t first = 0;
  std::uint32_t node = 0;
  const std::vector<PlacedOn> nodes = read_placed(where);
  if (nodes.empty()) return node;  // Unknown: the job has no lease yet.
  for (const PlacedOn& placed : nodes) {
    first += per_gpu ? static_cast<std::uint32_t>(std::popcount(placed.gpus)) : 1;
    if (rank < first) return node;
    ++node;
  }
  return Error{fmt::format("--rank: the job has {} rank{}, counted from 0; not {}", first,
                           first == 1 ? "" : "s", rank)};
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

// Returns the last lines. Reads larger and larger parts of the output until they contain enough
// lines. `size` of the result is where the lines end.
Result<Piece> read_tail(ApiClient& client, const std::string& id, const LogsOptions& logs) {
  for (std::uint64_t bytes = 64U << 10U;; bytes *= 4) {
    const std::uint64_t want = std::min(bytes, kMaxTail);
    Result<Piece> piece = read_piece(client, id, logs, "-" + std::to_string(want), want);
    if (!piece.ok()) return piece;
    const std::uint64_t got = piece.value().text.size();
    piece.value().text = RankFilter(logs.rank).pass(piece.value().text, true);
    const std::string& text = piece.value().text;
    const auto ends = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    if (ends <= *logs.tail && got >= want && want < kMaxTail) continue;
    piece.value().text = last_lines(text, *logs.tail);
    return piece;
  }
}

std::uint32_t latest_lease(const Json& job) {
  std::uint64_t latest = count_at(job, "leases_used");
  for (const Json& lease : list_at(job, "leases")) {
    latest = std::max(latest, count_at(lease, "number"));
  }
  return static_cast<std::uint32_t>(latest);
}

// With --rank and without --node: the node of the rank.
MaybeError choose_node(const Json& job, LogsOptions& logs) {
  if (!logs.rank || logs.node != 0) return std::nullopt;
  const Result<std::uint32_t> node = node_of_rank(job, *logs.rank);
  if (!node.ok()) return node.error();
  logs.node = node.value();
  return std::nullopt;
}

// Prints the output of one lease: `logs.lease`, or the latest. With `heading`, a heading comes
// before it, but not if the output is missing.
MaybeError print_lease(ApiClient& client, const std::string& id, const LogsOptions& logs,
                       LogPrinter& printer, bool heading = false) {
  if (logs.tail) {
    const Result<Piece> piece = read_tail(client, id, logs);
    if (!piece.ok()) return piece.error();
    printer.print(piece.value().text);
    return std::nullopt;
  }
  RankFilter filter(logs.rank);
  for (std::uint64_t offset = 0;;) {
    const Result<Piece> piece = read_piece(client, id, logs, std::to_string(offset), kLogPiece);
    if (!piece.ok()) return piece.error();
    if (heading && offset == 0) printer.print_heading(*logs.lease);
    offset += piece.value().text.size();
    const bool last = piece.value().text.empty() || offset >= piece.value().size;
    printer.print(filter.pass(piece.value().text, last));
    if (last) return std::nullopt;
  }
}

// Prints the leases from `first` to `latest`, each under a heading. Skips leases whose output is
// missing; returns the error of the last one if all are missing.
MaybeError print_leases(ApiClient& client, const std::string& id, std::uint32_t first,
                        std::uint32_t latest, const LogsOptions& logs, LogPrinter& printer) {
  MaybeError missing;
  bool printed = false;
  for (std::uint32_t lease = first; lease <= latest; ++lease) {
    LogsOptions one = logs;
    one.lease = lease;
    const MaybeError failed = print_lease(client, id, one, printer, true);
    if (failed && failed->code != ErrorCode::kNotFound) return failed;
    if (failed) {
      missing = failed;
    } else {
      printed = true;
    }
  }
  return printed ? std::nullopt : missing;
}

int print_output(ApiClient& client, const std::string& id, const LiveOptions& options,
                 Streams streams) {
  LogsOptions logs = options.logs;
  LogPrinter printer(options, streams);
  std::uint32_t latest = 0;
  const bool all = !logs.lease && !logs.tail;
  if (all || (logs.rank && logs.node == 0)) {
    const Result<Json> job = job_now(client, id);
    if (!job.ok()) return complain(streams, job.error());
    if (all) latest = latest_lease(job.value());
    if (const MaybeError error = choose_node(job.value(), logs)) return complain(streams, *error);
  }
  const MaybeError error = latest > 1 ? print_leases(client, id, 1, latest, logs, printer)
                                      : print_lease(client, id, logs, printer);
  return error ? complain(streams, *error) : kExitDone;
}

enum class Ended { kLease, kInterrupted, kNothingThere, kGone };

struct Followed {
  Ended how = Ended::kGone;
  std::string trouble;
};

// Prints the output of one lease, from its beginning or its last lines to its end.
Followed follow_lease(ApiClient& client, const std::string& id, const LogsOptions& logs,
                      LogPrinter& printer) {
  RankFilter filter(logs.rank);
  std::uint64_t offset = 0;
  if (logs.tail) {
    const Result<Piece> tail = read_tail(client, id, logs);
    if (tail.ok()) {
      printer.print(tail.value().text);
      offset = tail.value().size;
    }
  }
  ReconnectBackoff patience;
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
          printer.print(filter.pass(bytes, false));
          // The manager's own count is exact even where the output is not UTF-8.
          const Result<std::int64_t> at = parse_int(event.id);
          offset = at.ok() ? static_cast<std::uint64_t>(at.value()) : offset + bytes.size();
          return true;
        },
        interrupted);
    if (over) {
      printer.print(filter.pass("", true));
      return {Ended::kLease, ""};
    }
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
  LogPrinter printer(options, streams);
  std::uint32_t followed = 0;  // The last lease whose output is all printed or missing.
  std::uint32_t headed = 0;    // The last lease with a heading.
  Result<Json> job = job_now(client, name);
  if (!job.ok()) return complain(streams, job.error());
  const std::string id = whole_id(job.value());
  EventWatch watch(client, id);
  for (;; job = job_now(client, id)) {
    if (interrupted()) return kExitInterrupted;
    if (!job.ok()) return complain(streams, job.error());
    LogsOptions logs = options.logs;
    const std::uint32_t latest = logs.lease.value_or(latest_lease(job.value()));
    auto look_again = Clock::time_point::max();
    if (latest > followed) {
      if (const MaybeError error = choose_node(job.value(), logs)) return complain(streams, *error);
      if (!logs.lease && (followed > 0 || !logs.tail) && latest > followed + 1) {  // Ended leases.
        print_leases(client, id, followed + 1, latest - 1, logs, printer);
        followed = latest - 1;
      }
      if (followed > 0) logs.tail.reset();
      if (followed > 0 && headed < latest && !logs.lease) printer.print_heading(headed = latest);
      logs.lease = latest;
      const Followed ended = follow_lease(client, id, logs, printer);
      if (ended.how == Ended::kInterrupted) return kExitInterrupted;
      if (ended.how == Ended::kGone)
        return complain(streams, Error{ended.trouble, ErrorCode::kUnavailable});
      if (ended.how == Ended::kLease) {
        if (options.logs.lease) return kExitDone;
        followed = latest;
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
                      Error{"the manager reports no more about this job", ErrorCode::kUnavailable});
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
