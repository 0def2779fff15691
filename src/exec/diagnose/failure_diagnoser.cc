#include "exec/diagnose/failure_diagnoser.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/os/files.h"
#include "exec/diagnose/signatures_file.h"

namespace muster {

namespace {

constexpr std::int64_t kTail = 1 << 20;         // Bytes at the end of each log that are scanned.
constexpr std::int64_t kMaxCounted = 64 << 20;  // Bytes before the tail in which lines are counted.

struct Tail {
  std::string text;
  std::int64_t first_line = 1;
};

std::string read_at(const Fd& file, std::int64_t offset, std::int64_t bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t more = ::pread(file.get(), text.data() + got, text.size() - got,
                                 offset + static_cast<std::int64_t>(got));
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  text.resize(got);
  return text;
}

// The job can replace its log, so only a regular file is read, and only a bounded part of it.
Tail tail_of(const std::string& path) {
  Tail tail;
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts = {};
  if (!file.open() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return tail;
  // The job may have linked a file of another owner, which it could not read itself.
  struct stat owner {};
  const std::string directory = std::filesystem::path(path).parent_path().string();
  if (::stat(directory.c_str(), &owner) != 0 || owner.st_uid != facts.st_uid) return tail;
  const std::int64_t skipped = std::max<std::int64_t>(0, facts.st_size - kTail);
  for (std::int64_t at = skipped - std::min(skipped, kMaxCounted); at < skipped; at += kTail) {
    const std::string piece = read_at(file, at, std::min(kTail, skipped - at));
    tail.first_line += std::count(piece.begin(), piece.end(), '\n');
  }
  tail.text = read_at(file, skipped, std::min<std::int64_t>(kTail, facts.st_size));
  return tail;
}

bool ended_badly(const RankEnd& rank) { return rank.code != 0 || rank.signal != 0; }

}  // namespace

FailureDiagnoser::FailureDiagnoser(LeaseFiles files, std::string rules)
    : files_(std::move(files)), rules_(std::move(rules)) {}

MaybeError FailureDiagnoser::check() const {
  std::error_code code;
  if (!std::filesystem::exists(rules_, code)) return std::nullopt;
  const Result<std::vector<Signature>> own = read_signatures(rules_);
  return own.ok() ? MaybeError() : MaybeError(own.error());
}

const Signatures& FailureDiagnoser::signatures() {
  if (signatures_) return *signatures_;
  std::vector<Signature> all;
  std::error_code code;
  if (std::filesystem::exists(rules_, code)) {
    // check() has validated the file at startup. If it is invalid now, use only the built-in ones.
    Result<std::vector<Signature>> own = read_signatures(rules_);
    if (own.ok()) all = std::move(own.value());
  }
  for (Signature& each : builtin_signatures()) {
    const auto same = [&](const Signature& other) { return other.id == each.id; };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(std::move(each));
  }
  return signatures_.emplace(std::move(all));
}

std::optional<FailureDiagnoser::Finding> FailureDiagnoser::examine(std::span<const Part> parts) {
  AttemptLogs attempt;
  std::vector<Tail> tails;
  for (const Part& part : parts) tails.push_back(tail_of(files_.output_path(part.lease)));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const ExitReport& report = parts[i].report;
    if (report.cause == EndCause::kOutOfMemory) attempt.facts.oom_kills = 1;
    RankLog log;
    log.rank = report.ranks.empty() ? static_cast<int>(i) : report.ranks.front().rank;
    log.text = tails[i].text;
    log.first_line = tails[i].first_line;
    const auto bad = std::find_if(report.ranks.begin(), report.ranks.end(), ended_badly);
    // If we stopped the ranks because of another part, their exit codes have no meaning.
    if (bad != report.ranks.end() && report.cause == EndCause::kFailed) {
      if (bad->signal != 0) {
        log.signal = bad->signal;
      } else {
        log.exit_code = bad->code;
      }
    }
    log.ended_at = report.end.boot_us;
    attempt.ranks.push_back(std::move(log));
  }
  const Diagnosis found = classify(attempt, signatures());
  if (!found.found()) return std::nullopt;
  Finding finding;
  finding.reason = info_of(found.reason).key;
  finding.words = found.says;
  finding.proof.signature = found.signature;
  finding.proof.evidence = found.evidence;
  finding.proof.line = found.line;
  finding.proof.advice = found.advice;
  finding.proof.told = SignatureReaction{found.reaction, found.bucket};
  return finding;
}

}  // namespace muster
