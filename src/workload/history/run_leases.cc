#include "workload/history/run_leases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text/name_table.h"
#include "base/text/text.h"
#include "engine/model/topology.h"
#include "workload/history/jobs_by_id.h"
#include "workload/history/named_csv.h"
#include "workload/history/notes.h"

namespace muster {

namespace {

enum Column : std::size_t { kJob, kServer, kGpus, kStart, kEnd, kEnded, kReason, kColumns };
constexpr std::array<std::string_view, kColumns> kNames = {"job_id", "server", "gpus",  "start_s",
                                                           "end_s",  "ended",  "reason"};

enum class Ended : std::uint8_t { kChanged, kOver, kFailed };

// GPUs of one server, held by a job without change.
struct Piece {
  std::uint32_t job = 0;  // In History::jobs.
  std::uint32_t server = 0;
  std::uint64_t gpus = 0;
  Instant start;
  Instant end;
  Ended ended = Ended::kOver;
  std::optional<Reason> reason;
};

class LeasesFile {
 public:
  LeasesFile(std::string_view text, const std::string& name, History& history)
      : rows_(text, name, kNames), history_(history), by_id_(history) {}

  Refusal read();

 private:
  Refusal read_row();
  Refusal read_server(Piece& piece);
  Refusal read_gpus(Piece& piece);
  Refusal read_times(Piece& piece);
  Refusal read_ended(Piece& piece);
  void make_attempts();
  std::size_t end_of_gang(std::size_t first) const;
  bool goes_on(std::size_t a, std::size_t b) const;
  std::size_t add_attempt(std::size_t first);

  NamedCsv rows_;
  History& history_;
  JobsById by_id_;
  NameTable servers_;
  std::vector<Piece> pieces_;
};

Refusal LeasesFile::read_server(Piece& piece) {
  const Result<std::uint32_t> server = rows_.name(kServer, servers_);
  if (!server.ok()) return server.error();
  if (server.value() == 0) return rows_.fail(kServer, "empty: ''");
  piece.server = server.value() - 1;
  if (piece.server == history_.servers.size()) {
    history_.servers.push_back({std::string(rows_.cell(kServer)), 0, 0, 0});
  }
  return std::nullopt;
}

// "0 1 5": the GPUs of the server by number.
Refusal LeasesFile::read_gpus(Piece& piece) {
  for (const std::string_view word : split(rows_.cell(kGpus), ' ')) {
    const Result<std::int64_t> gpu = parse_int(word);
    if (!gpu.ok()) return rows_.fail(kGpus, gpu.error().message);
    if (gpu.value() < 0 || gpu.value() >= kMostGpusPerNode) {
      return rows_.fail(kGpus,
                        fmt::format("not from 0 to {}: {}", kMostGpusPerNode - 1, in_quotes(word)));
    }
    piece.gpus |= std::uint64_t{1} << gpu.value();
  }
  std::int32_t& seen = history_.servers[piece.server].gpus;
  seen = std::max(seen, static_cast<std::int32_t>(std::bit_width(piece.gpus)));
  return std::nullopt;
}

Refusal LeasesFile::read_times(Piece& piece) {
  const Result<Instant> start = rows_.time(kStart);
  const Result<Instant> end = rows_.time(kEnd);
  if (!start.ok()) return start.error();
  if (!end.ok()) return end.error();
  piece.start = start.value();
  piece.end = end.value();
  if (piece.end == Instant::never() || piece.start > piece.end) {
    return rows_.fail(kEnd, "empty, or before the start: " + in_quotes(rows_.cell(kEnd)));
  }
  return std::nullopt;
}

Refusal LeasesFile::read_ended(Piece& piece) {
  constexpr std::array<std::string_view, 6> kWords = {"changed", "finished", "failed",
                                                      "stopped", "moved",    "held"};
  const std::string_view word = rows_.cell(kEnded);
  if (std::find(kWords.begin(), kWords.end(), word) == kWords.end()) {
    return rows_.fail(kEnded, "no such end: " + in_quotes(word) + suggestion(word, kWords));
  }
  if (word == "changed") piece.ended = Ended::kChanged;
  if (word != "failed") return std::nullopt;
  piece.ended = Ended::kFailed;
  const std::string_view key = rows_.cell(kReason);
  piece.reason = find_reason(key);
  if (!piece.reason) return rows_.fail(kReason, no_such_reason(key));
  return std::nullopt;
}

Refusal LeasesFile::read_row() {
  Piece piece;
  const std::optional<std::uint32_t> job = by_id_.find(rows_.cell(kJob));
  if (!job) return rows_.fail(kJob, "no such job in jobs.csv: " + in_quotes(rows_.cell(kJob)));
  piece.job = *job;
  if (Refusal refusal = read_server(piece)) return refusal;
  if (Refusal refusal = read_gpus(piece)) return refusal;
  if (Refusal refusal = read_times(piece)) return refusal;
  if (Refusal refusal = read_ended(piece)) return refusal;
  pieces_.push_back(piece);
  return std::nullopt;
}

// The pieces of one gang from here on; returns the next one.
std::size_t LeasesFile::end_of_gang(std::size_t first) const {
  const Piece& head = pieces_[first];
  std::size_t next = first;
  while (next < pieces_.size() && pieces_[next].job == head.job &&
         pieces_[next].start == head.start && pieces_[next].end == head.end) {
    ++next;
  }
  return next;
}

// Whether the gang of the pieces from b on is, without a break, that from a to b, on the same GPUs.
bool LeasesFile::goes_on(std::size_t a, std::size_t b) const {
  if (b == pieces_.size() || pieces_[a].ended != Ended::kChanged) return false;
  if (pieces_[b].job != pieces_[a].job || pieces_[b].start != pieces_[a].end) return false;
  const auto gpus = [](const Piece& piece) { return std::pair(piece.server, piece.gpus); };
  return std::equal(pieces_.begin() + static_cast<std::ptrdiff_t>(a),
                    pieces_.begin() + static_cast<std::ptrdiff_t>(b),
                    pieces_.begin() + static_cast<std::ptrdiff_t>(b),
                    pieces_.begin() + static_cast<std::ptrdiff_t>(end_of_gang(b)),
                    [&](const Piece& x, const Piece& y) { return gpus(x) == gpus(y); });
}

// From the pieces that begin with this one, as long as the job kept its GPUs; returns the next one.
std::size_t LeasesFile::add_attempt(std::size_t first) {
  Attempt attempt;
  attempt.start = pieces_[first].start;
  attempt.hosts = static_cast<std::uint32_t>(history_.hosts.size());
  std::size_t gang = first;
  std::size_t next = end_of_gang(first);
  for (std::size_t i = first; i < next; ++i) {
    history_.hosts.push_back({pieces_[i].server, pieces_[i].gpus});
    ++attempt.host_count;
  }
  while (goes_on(gang, next)) gang = std::exchange(next, end_of_gang(next));
  const Piece& last = pieces_[gang];
  attempt.end = last.end;
  attempt.failed = last.ended == Ended::kFailed;
  attempt.reason = last.reason;
  attempt.run = attempt.end - attempt.start;
  history_.attempts.push_back(attempt);
  return next;
}

void LeasesFile::make_attempts() {
  const auto order = [](const Piece& piece) {
    return std::tuple(piece.job, piece.start, piece.end, piece.server);
  };
  std::stable_sort(pieces_.begin(), pieces_.end(),
                   [&](const Piece& a, const Piece& b) { return order(a) < order(b); });
  for (std::size_t i = 0; i < pieces_.size();) {
    PastJob& job = history_.jobs[pieces_[i].job];
    const bool first = job.attempt_count++ == 0;
    if (first) job.attempts = static_cast<std::uint32_t>(history_.attempts.size());
    const bool resumed = !first && !history_.attempts.back().failed;
    i = add_attempt(i);
    history_.attempts.back().resumed = resumed;
  }
}

Refusal LeasesFile::read() {
  if (Refusal refusal = rows_.read_header()) return refusal;
  if (Refusal refusal = rows_.for_each([this] { return read_row(); })) return refusal;
  make_attempts();
  return std::nullopt;
}

}  // namespace

Refusal add_leases(std::string_view text, const std::string& name, History& history) {
  return LeasesFile(text, name, history).read();
}

}  // namespace muster
