#include "live/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "config/signatures_file.h"

namespace muster {

namespace {

constexpr std::int64_t kTail = 1 << 20;  // Bytes of each log that are looked at.
constexpr std::size_t kMostShown = 160;  // Of the evidence, within the words.

struct Tail {
  std::string text;
  std::int64_t first_line = 1;
};

// A log is what strangers wrote, and may be gone.
Tail tail_of(const std::string& path) {
  Tail tail;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return tail;
  const std::int64_t size = file.tellg();
  const std::int64_t skipped = std::max<std::int64_t>(0, size - kTail);
  file.seekg(0);
  std::string piece(64 << 10, '\0');
  for (std::int64_t left = skipped; left > 0 && file;) {
    file.read(piece.data(), std::min<std::int64_t>(left, static_cast<std::int64_t>(piece.size())));
    left -= file.gcount();
    tail.first_line += std::count(piece.begin(), piece.begin() + file.gcount(), '\n');
  }
  tail.text.resize(static_cast<std::size_t>(size - skipped));
  file.read(tail.text.data(), size - skipped);
  tail.text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return tail;
}

bool ended_badly(const RankEnd& rank) { return rank.code != 0 || rank.signal != 0; }

}  // namespace

Doctor::Doctor(std::string leases, std::string rules)
    : leases_(std::move(leases)), rules_(std::move(rules)) {}

Refusal Doctor::check() const {
  if (!std::filesystem::exists(rules_)) return std::nullopt;
  const Result<std::vector<Signature>> own = read_signatures(rules_);
  return own.ok() ? Refusal() : Refusal(own.error());
}

const Signatures& Doctor::signatures() {
  if (signatures_) return *signatures_;
  std::vector<Signature> all;
  if (std::filesystem::exists(rules_)) {
    // Checked at the start; if it was spoilt since, what is built in must do.
    Result<std::vector<Signature>> own = read_signatures(rules_);
    if (own.ok()) all = std::move(own.value());
  }
  for (Signature& each : builtin_signatures()) {
    const auto same = [&](const Signature& other) { return other.id == each.id; };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(std::move(each));
  }
  return signatures_.emplace(std::move(all));
}

void Doctor::examine(std::span<const Part> parts, LeaseOverInput& over) {
  AttemptLogs attempt;
  std::vector<Tail> tails;
  for (const Part& part : parts) tails.push_back(tail_of(leases_ + "/" + part.lease + "/out.log"));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const ExitReport& report = parts[i].report;
    if (report.cause == EndCause::kOutOfMemory) attempt.facts.oom_kills = 1;
    RankLog log;
    log.rank = report.ranks.empty() ? static_cast<int>(i) : report.ranks.front().rank;
    log.text = tails[i].text;
    log.first_line = tails[i].first_line;
    const auto bad = std::find_if(report.ranks.begin(), report.ranks.end(), ended_badly);
    // Of those that we stopped because of another the end says nothing.
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
  if (!found.found()) return;
  over.reason = info_of(found.reason).key;
  over.proof.signature = found.signature;
  over.proof.evidence = found.evidence;
  over.proof.line = found.line;
  over.words = found.says;
  if (found.line > 0) {
    over.words += fmt::format(" (line {}: {})", found.line, found.evidence.substr(0, kMostShown));
  }
}

}  // namespace muster
