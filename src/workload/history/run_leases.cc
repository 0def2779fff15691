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

enum Column : std::size_t { kJob, kNode, kGpus, kStart, kEnd, kEnded, kReason, kColumns };
constexpr std::array<std::string_view, kColumns> kNames = {"job_id", "server", "gpus",  "start_s",
                                                           "end_s",  "ended",  "reason"};

enum class Ended : std::uint8_t { kChanged, kOver, kFailed };

// One row: a job holds the same GPUs of one node from start to end.
struct Piece {
  std::uint32_t job = 0;  // Index in History::jobs.
  std::uint32_t node = 0;
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

  MaybeError read();

 private:
  MaybeError read_row();
  MaybeError read_node(Piece& piece);
  MaybeError read_gpus(Piece& piece);
  MaybeError read_times(Piece& piece);
  MaybeError read_ended(Piece& piece);
  void make_attempts();
  std::size_t end_of_gang(std::size_t first) const;
  bool continues(std::size_t a, std::size_t b) const;
  std::size_t add_attempt(std::size_t first);

  NamedCsv rows_;
  History& history_;
  JobsById by_id_;
  NameTable nodes_;
  std::vector<Piece> pieces_;
};

MaybeError LeasesFile::read_node(Piece& piece) {
  const Result<std::uint32_t> node = rows_.name(kNode, nodes_);
  if (!node.ok()) return node.error();
  if (node.value() == 0) return rows_.fail(kNode, "empty: ''");
  piece.node = node.value() - 1;
  if (piece.node == history_.nodes.size()) {
    history_.nodes.push_back({std::string(rows_.cell(kNode)), 0, 0, 0});
  }
  return std::nullopt;
}

// Reads a list of GPU indices such as "0 1 5".
MaybeError LeasesFile::read_gpus(Piece& piece) {
  for (const std::string_view word : split(rows_.cell(kGpus), ' ')) {
    const Result<std::int64_t> gpu = parse_int(word);
    if (!gpu.ok()) return rows_.fail(kGpus, gpu.error().message);
    if (gpu.value() < 0 || gpu.value() >= kMaxGpusPerNode) {
      return rows_.fail(
          kGpus, fmt::format("not between 0 and {}: {}", kMaxGpusPerNode - 1, in_quotes(word)));
    }
    piece.gpus |= std::uint64_t{1} << gpu.value();
  }
  std::int32_t& seen = history_.nodes[piece.node].gpus;
  seen = std::max(seen, static_cast<std::int32_t>(std::bit_width(piece.gpus)));
  return std::nullopt;
}

MaybeError LeasesFile::read_times(Piece& piece) {
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

MaybeError LeasesFile::read_ended(Piece& piece) {
  constexpr std::array<std::string_view, 7> kWords = {"changed", "finished", "killed", "failed",
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

MaybeError LeasesFile::read_row() {
  Piece piece;
  const std::optional<std::uint32_t> job = by_id_.find(rows_.cell(kJob));
  if (!job) return rows_.fail(kJob, "no such job in jobs.csv: " + in_quotes(rows_.cell(kJob)));
  piece.job = *job;
  if (MaybeError refusal = read_node(piece)) return refusal;
  if (MaybeError refusal = read_gpus(piece)) return refusal;
  if (MaybeError refusal = read_times(piece)) return refusal;
  if (MaybeError refusal = read_ended(piece)) return refusal;
  pieces_.push_back(piece);
  return std::nullopt;
}

// Returns the index after the last piece of the gang that begins at `first`.
std::size_t LeasesFile::end_of_gang(std::size_t first) const {
  const Piece& head = pieces_[first];
  std::size_t next = first;
  while (next < pieces_.size() && pieces_[next].job == head.job &&
         pieces_[next].start == head.start && pieces_[next].end == head.end) {
    ++next;
  }
  return next;
}

// Returns whether the gang that begins at b follows the gang from a to b without a gap and on the
// same GPUs.
bool LeasesFile::continues(std::size_t a, std::size_t b) const {
  if (b == pieces_.size() || pieces_[a].ended != Ended::kChanged) return false;
  if (pieces_[b].job != pieces_[a].job || pieces_[b].start != pieces_[a].end) return false;
  const auto gpus = [](const Piece& piece) { return std::pair(piece.node, piece.gpus); };
  return std::equal(pieces_.begin() + static_cast<std::ptrdiff_t>(a),
                    pieces_.begin() + static_cast<std::ptrdiff_t>(b),
                    pieces_.begin() + static_cast<std::ptrdiff_t>(b),
                    pieces_.begin() + static_cast<std::ptrdiff_t>(end_of_gang(b)),
                    [&](const Piece& x, const Piece& y) { return gpus(x) == gpus(y); });
}

// Adds an attempt from the pieces that begin at `first`, while the job keeps its GPUs. Returns the
// index after them.
std::size_t LeasesFile::add_attempt(std::size_t first) {
  Attempt attempt;
  attempt.start = pieces_[first].start;
  attempt.hosts = static_cast<std::uint32_t>(history_.hosts.size());
  std::size_t gang = first;
  std::size_t next = end_of_gang(first);
  for (std::size_t i = first; i < next; ++i) {
    history_.hosts.push_back({pieces_[i].node, pieces_[i].gpus});
    ++attempt.host_count;
  }
  while (continues(gang, next)) gang = std::exchange(next, end_of_gang(next));
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
    return std::tuple(piece.job, piece.start, piece.end, piece.node);
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

MaybeError LeasesFile::read() {
  if (MaybeError refusal = rows_.read_header()) return refusal;
  if (MaybeError refusal = rows_.for_each([this] { return read_row(); })) return refusal;
  make_attempts();
  return std::nullopt;
}

}  // namespace

MaybeError add_leases(std::string_view text, const std::string& name, History& history) {
  return LeasesFile(text, name, history).read();
}

}  // namespace muster
