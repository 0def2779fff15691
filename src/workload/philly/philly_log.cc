#include "workload/philly/philly_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/file/byte_source.h"
#include "base/text/text.h"
#include "base/types/saturate.h"
#include "workload/history/notes.h"
#include "workload/philly/json_batches.h"
#include "workload/philly/pacific_time.h"
#include "workload/philly/philly_job.h"
#include "workload/trace/reader.h"

namespace muster {

namespace {

struct Counts {
  std::int64_t without_submit = 0;
  std::int64_t without_attempts = 0;
  std::int64_t without_start = 0;
  std::int64_t without_end = 0;
  std::int64_t end_before_start = 0;
  std::int64_t start_before_submit = 0;
  std::int64_t out_of_order = 0;
  std::int64_t without_id = 0;
  std::int64_t same_id = 0;
  std::int64_t odd_status = 0;
  std::int64_t differing_gpus = 0;
  std::int64_t odd_gpus = 0;
  std::int64_t nameless_nodes = 0;
  std::int64_t in_repeated_hour = 0;
  std::int64_t unused_fields = 0;
};

class LogReader {
 public:
  explicit LogReader(ByteSource source) : batches_(std::move(source)) {
    history_.source = batches_.source().name();
    history_.format = "philly-log";
  }
  Result<History> run();

 private:
  void reserve();
  void add(const LoggedJob& logged);
  void add_id(const LoggedJob& logged, PastJob& job);
  Status status_of(std::string_view text);
  Instant utc(WallTime wall, Instant earliest);
  void add_attempts(const LoggedJob& logged, PastJob& job);
  void add_times(const LoggedAttempt& logged, Instant submit, Instant& earliest, Attempt& attempt);
  std::int32_t add_hosts(const LoggedJob& logged, const LoggedAttempt& from, Attempt& attempt);
  void add_host(const LoggedShare& share, Attempt& attempt);
  void put_in_order(const PastJob& job);
  Result<History> finish();
  void write_notes();

  JsonBatches batches_;
  PhillyJobParser parser_;
  History history_;
  PacificClock clock_;
  NameTable nodes_;                        // Entry i + 1 is the name of node i.
  std::vector<std::uint32_t> last_share_;  // By node: its last index in History::hosts.
  NameTable odd_statuses_, unused_fields_;
  Counts counts_;
  bool reserved_ = false;
};

// Growing a vector copies it. To avoid most copies, this estimates the final sizes from the first
// megabyte. Reserved memory that stays unused costs nothing.
void LogReader::reserve() {
  constexpr std::int64_t kEnough = std::int64_t{1} << 20;
  constexpr double kMax = 1 << 24;
  const auto total = static_cast<double>(batches_.source().size());
  const std::int64_t so_far = batches_.bytes_before();
  if (reserved_ || so_far < kEnough) return;
  reserved_ = true;
  const double factor = 1.05 * total / static_cast<double>(so_far);
  const auto make_room = [&](auto& items) {
    items.reserve(static_cast<std::size_t>(
        std::clamp(factor * static_cast<double>(items.size()), 0.0, kMax)));
  };
  make_room(history_.jobs);
  make_room(history_.attempts);
  make_room(history_.hosts);
}

void LogReader::add_id(const LoggedJob& logged, PastJob& job) {
  const std::size_t known = history_.ids.size();
  job.id = history_.ids.intern(logged.id);
  if (logged.id.empty()) {
    ++counts_.without_id;
  } else if (job.id < known) {
    ++counts_.same_id;
  }
}

Status LogReader::status_of(std::string_view text) {
  if (text == "Pass") return Status::kPassed;
  if (text == "Killed") return Status::kKilled;
  if (text == "Failed") return Status::kFailed;
  ++counts_.odd_status;
  odd_statuses_.intern(text.empty() ? "none" : text);
  return Status::kUnknown;
}

Instant LogReader::utc(WallTime wall, Instant earliest) {
  if (wall == kNoTime) return Instant::never();
  if (clock_.comes_twice(wall)) ++counts_.in_repeated_hour;
  return clock_.utc_not_before(wall, earliest);
}

void LogReader::add_times(const LoggedAttempt& logged, Instant submit, Instant& earliest,
                          Attempt& attempt) {
  attempt.start = utc(logged.start, earliest);
  if (attempt.start == Instant::never()) {
    ++counts_.without_start;
  } else {
    if (attempt.start < submit) ++counts_.start_before_submit;
    earliest = attempt.start;
  }
  attempt.end = utc(logged.end, earliest);
  if (attempt.end == Instant::never()) {
    ++counts_.without_end;
  } else if (attempt.start != Instant::never() && attempt.end < attempt.start) {
    attempt.end = Instant::never();
    ++counts_.end_before_start;
  } else {
    earliest = attempt.end;
  }
}

void LogReader::add_host(const LoggedShare& share, Attempt& attempt) {
  const std::uint32_t node = nodes_.intern(share.node) - 1;
  if (node == history_.nodes.size()) {
    history_.nodes.push_back(HistoryNode{std::string(share.node)});
    last_share_.push_back(0);
  }
  std::int32_t& seen = history_.nodes[node].gpus;
  seen = std::max(seen, 64 - std::countl_zero(share.gpus));
  std::uint32_t& last = last_share_[node];
  const bool again = last >= attempt.hosts && last < attempt.hosts + attempt.host_count &&
                     history_.hosts[last].node == node;
  if (again) {
    history_.hosts[last].gpus |= share.gpus;
    return;
  }
  last = static_cast<std::uint32_t>(history_.hosts.size());
  history_.hosts.push_back(HostShare{node, share.gpus});
  ++attempt.host_count;
}

// Returns the number of GPUs.
std::int32_t LogReader::add_hosts(const LoggedJob& logged, const LoggedAttempt& from,
                                  Attempt& attempt) {
  attempt.hosts = static_cast<std::uint32_t>(history_.hosts.size());
  std::int32_t nameless = 0;
  for (std::size_t i = 0; i < from.share_count; ++i) {
    const LoggedShare& share = logged.shares[from.shares + i];
    counts_.odd_gpus += share.odd;
    if (share.node.empty()) {
      ++counts_.nameless_nodes;
      nameless += std::popcount(share.gpus);
    } else {
      add_host(share, attempt);
    }
  }
  std::int32_t gpus = nameless;
  for (const HostShare& share : history_.hosts_of(attempt)) gpus += std::popcount(share.gpus);
  return gpus;
}

void LogReader::put_in_order(const PastJob& job) {
  // An attempt without times stays after the attempt that precedes it in the log.
  std::vector<std::pair<Instant, Attempt>> ordered;
  for (const Attempt& attempt : history_.attempts_of(job)) {
    Instant when = std::min(attempt.start, attempt.end);
    if (when == Instant::never()) when = ordered.empty() ? Instant() : ordered.back().first;
    ordered.emplace_back(when, attempt);
  }
  const auto earlier = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (std::is_sorted(ordered.begin(), ordered.end(), earlier)) return;
  ++counts_.out_of_order;
  std::stable_sort(ordered.begin(), ordered.end(), earlier);
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    history_.attempts[job.attempts + i] = ordered[i].second;
  }
}

void LogReader::add_attempts(const LoggedJob& logged, PastJob& job) {
  job.attempts = static_cast<std::uint32_t>(history_.attempts.size());
  job.attempt_count = static_cast<std::uint32_t>(logged.attempts.size());
  if (job.attempt_count == 0) {
    ++counts_.without_attempts;
    return;
  }
  Instant earliest = job.submit;
  bool differs = false;
  for (const LoggedAttempt& from : logged.attempts) {
    Attempt attempt;
    add_times(from, job.submit, earliest, attempt);
    const std::int32_t gpus = add_hosts(logged, from, attempt);
    if (job.gpus == 0) job.gpus = gpus;
    differs = differs || (gpus != 0 && gpus != job.gpus);
    if (attempt.start != Instant::never() && attempt.end != Instant::never()) {
      attempt.run = attempt.end - attempt.start;
      job.run = Duration::micros(saturating_add(job.run.us(), attempt.run.us()));
    }
    history_.attempts.push_back(attempt);
  }
  if (differs) ++counts_.differing_gpus;
  if (job.attempt_count > 1) put_in_order(job);
  const std::uint32_t good = job.status == Status::kFailed ? 0 : 1;
  job.failures = static_cast<std::int32_t>(job.attempt_count - good);
  for (std::uint32_t i = 0; i + good < job.attempt_count; ++i) {
    history_.attempts[job.attempts + i].failed = true;
  }
}

void LogReader::add(const LoggedJob& logged) {
  for (const std::string_view field : logged.unused) {
    unused_fields_.intern(field);
    ++counts_.unused_fields;
  }
  if (logged.submit == kNoTime) {
    ++counts_.without_submit;
    return;
  }
  history_.ids.expect(logged.id);
  PastJob job;
  job.submit = utc(logged.submit, Instant());
  job.status = status_of(logged.status);
  job.tenant = history_.tenants.intern(logged.tenant);
  job.user = history_.users.intern(logged.user);
  add_attempts(logged, job);
  add_id(logged, job);
  history_.jobs.push_back(job);
}

std::string names_in(const NameTable& table) {
  std::vector<std::string> names;
  for (std::uint32_t i = 1; i < table.size(); ++i) names.push_back(in_quotes(table[i]));
  return first_few(names);
}

void LogReader::write_notes() {
  const auto note = [&](std::int64_t count, std::string_view noun, std::string_view rest) {
    add_note(history_.notes, count, noun, rest);
  };
  note(counts_.without_submit, "job", "skipped: no submit time");
  note(counts_.without_attempts, "job", "without attempts: number of GPUs unknown");
  note(counts_.without_start, "attempt", "without a start");
  note(counts_.without_end, "attempt", "without an end");
  note(counts_.end_before_start, "attempt", "with an end before the start: end ignored");
  note(counts_.start_before_submit, "attempt", "with a start before the job's submit time");
  note(counts_.out_of_order, "job", "with attempts out of order: sorted by time");
  note(counts_.without_id, "job", "without an id");
  note(counts_.same_id, "job", "with the id of an earlier job");
  note(counts_.odd_status, "job",
       "with a status other than Pass, Killed and Failed: " + names_in(odd_statuses_));
  note(counts_.differing_gpus, "job",
       "with attempts on different numbers of GPUs: the first number is used");
  note(counts_.odd_gpus, "GPU", "not named gpu0 to gpu63: read as the lowest free GPU of the node");
  note(counts_.nameless_nodes, "record", "for a node without a name: only the GPUs are counted");
  note(counts_.in_repeated_hour, "time",
       "in the repeated hour in November: read as the first, unless that is too early");
  note(counts_.unused_fields, "value", "ignored in unknown fields: " + names_in(unused_fields_));
}

Result<History> LogReader::finish() {
  if (history_.jobs.empty()) {
    return Error{fmt::format("{}: no jobs{}", history_.source,
                             counts_.without_submit > 0 ? " with a submit time" : "")};
  }
  const auto earlier = [](const PastJob& a, const PastJob& b) { return a.submit < b.submit; };
  std::stable_sort(history_.jobs.begin(), history_.jobs.end(), earlier);
  Knows& knows = history_.knows;
  knows.dates = knows.runs = knows.starts = knows.attempts = knows.hosts = true;
  knows.status = knows.failures = knows.tenants = knows.users = true;
  write_notes();
  return std::move(history_);
}

Result<History> LogReader::run() {
  constexpr std::size_t kMax = 20 * kMaxJobs;  // Maximum of attempts, and of nodes of attempts.
  while (true) {
    const Result<bool> there = batches_.next();
    if (!there.ok()) return there.error();
    if (!there.value()) return finish();
    reserve();
    const bool ok = parser_.parse(batches_, [&](const LoggedJob& job) { add(job); });
    if (!ok) return batches_.fail_at(parser_.fault().at, parser_.fault().what);
    if (history_.jobs.size() > kMaxJobs) {
      return batches_.fail_at(batches_.text().data(),
                              fmt::format("too many jobs; the maximum is {}", kMaxJobs));
    }
    if (std::max(history_.attempts.size(), history_.hosts.size()) > kMax) {
      return batches_.fail_at(
          batches_.text().data(),
          fmt::format("too many attempts, or nodes of attempts; the maximum is {}", kMax));
    }
  }
}

}  // namespace

Result<History> read_philly_log(const std::string& path) {
  Result<ByteSource> source = ByteSource::open(path);
  if (!source.ok()) return source.error();
  return LogReader(std::move(source).value()).run();
}

Result<History> parse_philly_log(std::string_view text, const std::string& name) {
  return LogReader(ByteSource::of(text, name)).run();
}

}  // namespace muster
