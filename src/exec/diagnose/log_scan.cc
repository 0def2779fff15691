#include "exec/diagnose/log_scan.h"

#include <algorithm>

namespace muster {

namespace {

constexpr std::size_t kMaxVoices = 1'024;
constexpr std::size_t kMaxKnown = 4'096;
constexpr std::size_t kMaxDismissed = 64;
constexpr std::size_t kMaxFrames = 16'384;  // Bytes of a traceback that are kept.
constexpr int kLinesBackForTime = 64;
constexpr int kSurvivedAfter = 2;           // Lines of progress.
constexpr int kExceptionSurvivedAfter = 3;  // More, because lines of other ranks may follow.
constexpr int kWentOnAfter = 4;  // Ordinary lines. The message of an exception can have some too.
constexpr int kSchedulerPriorities = 10;  // Signatures below report actions of the scheduler.
constexpr int kMaxNames = 4;              // Matches inside names that are skipped on one line.

std::size_t line_end(std::string_view text, std::size_t begin) {
  const std::size_t most = std::min(text.size() - begin, LogScan::kMaxPiece);
  const std::string_view piece = text.substr(begin, most);
  std::size_t end = piece.find('\n');
  if (end == std::string_view::npos) end = piece.size();
  // Progress bars overwrite their line.
  const std::size_t over = piece.substr(0, end).find('\r');
  return begin + std::min(end, over);
}

std::size_t line_begin(std::string_view text, std::size_t least, std::size_t at) {
  constexpr std::size_t kMax = LogScan::kMaxPiece / 2;  // Half is for the rest of the line.
  const std::size_t from = at - least > kMax ? at - kMax : least;
  const std::size_t back = text.substr(from, at - from).find_last_of("\r\n");
  return back == std::string_view::npos ? from : from + back + 1;
}

std::int64_t breaks_in(std::string_view text) { return std::count(text.begin(), text.end(), '\n'); }

// Returns the time of the line or, because tracebacks have none, of a line before it.
std::optional<std::int64_t> time_before(std::string_view text, std::size_t begin, std::size_t end) {
  for (int i = 0; i < kLinesBackForTime; ++i) {
    const auto time = time_of(text.substr(begin, end - begin));
    if (time || begin == 0) return time;
    end = begin - 1;
    begin = line_begin(text, 0, end);
  }
  return std::nullopt;
}

bool opens_traceback(std::string_view line) {
  return line.find("Traceback (most recent call last)") != std::string_view::npos;
}

// Python prints these before an exception that does not end the program.
bool precedes_ignored_exception(std::string_view line) {
  return line.starts_with("Exception ignored in") || line.starts_with("--- Logging error ---") ||
         line.starts_with("Error in atexit._run_exitfuncs");
}

bool is_frame(std::string_view line) {
  // Some tracebacks are drawn in boxes, with the characters U+2500 to U+257F.
  const bool box = line.starts_with("\xe2\x94") || line.starts_with("\xe2\x95");
  return line[0] == ' ' || line[0] == '\t' || line[0] == '|' || box;
}

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

}  // namespace

LogScan::LogScan(const Signatures& signatures, int rank, std::int64_t first_line)
    : signatures_(signatures), rank_(rank), line_(first_line) {}

void LogScan::feed(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (busy_ == 0) {
      const std::size_t found = signatures_.triggers().first_end(text.substr(at));
      const bool none = found == std::string_view::npos;
      const std::size_t begin = none ? text.size() : line_begin(text, at, at + found - 1);
      line_ += breaks_in(text.substr(at, begin - at));
      at = begin;
      if (none) return;
    }
    text_ = text;
    begin_ = at;
    end_ = line_end(text, at);
    take();
    at = end_;
    if (at < text.size() && (text[at] == '\n' || text[at] == '\r')) {
      if (text[at] == '\n') ++line_;
      ++at;
    }
  }
}

LogScan::RankLines& LogScan::lines_of(int rank) {
  if (voices_.size() >= kMaxVoices && voices_.find(rank) == voices_.end()) rank = -1;
  return voices_[rank];
}

void LogScan::take() {
  const BareLine line = bare(text_.substr(begin_, end_ - begin_), scratch_);
  if (blank(line.text)) return;
  line_rank_ = line.rank;
  RankLines& voice = lines_of(line.rank);
  const bool was_busy = voice.busy();
  Finding base;
  base.rank = line.rank >= 0 ? line.rank : rank_;
  base.line = line_;
  take_line(voice, line.text, base);
  busy_ += static_cast<std::size_t>(voice.busy()) - static_cast<std::size_t>(was_busy);
}

void LogScan::show(Finding& finding) const {
  if (!finding.evidence.empty()) return;
  constexpr std::size_t kAhead = 100;
  const std::string_view line = text_.substr(begin_, end_ - begin_);
  const std::size_t at = line.size() - std::min(line.size(), finding.from_end);
  if (line.size() <= kMaxEvidenceBytes || at <= 2 * kAhead) {
    finding.evidence = clean(line, kMaxEvidenceBytes);
  } else {
    finding.evidence = "..." + clean(line.substr(at - kAhead), kMaxEvidenceBytes - 3);
  }
}

void LogScan::take_line(RankLines& voice, std::string_view line, const Finding& base) {
  const bool opens = opens_traceback(line);
  if (voice.in_traceback && !opens && is_frame(line)) {
    if (voice.frames.size() + line.size() < kMaxFrames) voice.frames.append(line).append("\n");
    return;
  }
  if (opens) {
    begin_traceback(voice, line, base);
    return;
  }
  if (line.starts_with("During handling of the above exception") ||
      line.starts_with("The above exception was the direct cause")) {
    voice.linked = true;
    voice.handling = line.starts_with("During");
    return;
  }
  const bool ends = voice.in_traceback;
  std::vector<Pending> found;
  const bool explained = match_line(voice, line, base, ends, found);
  const auto is_explicit = [&](const Pending& one) {
    return signatures_[one.finding.signature].is_explicit;
  };
  if (std::any_of(found.begin(), found.end(), is_explicit)) {
    // The cause is known, so drop matches that only show the end.
    std::erase_if(found, [&](const Pending& one) {
      return !is_explicit(one) && !signatures_[one.finding.signature].echo;
    });
  } else if (ends && !explained) {  // Only the traceback matches: use its last line.
    for (Pending& header : voice.headers) {
      header.finding.line = base.line;
      header.finding.evidence.clear();
      header.finding.from_end = line.size();
      found.push_back(std::move(header));
    }
  }
  if (ends) {
    voice.in_traceback = false;
    voice.headers.clear();
    voice.frames.clear();
  }
  if (!found.empty() && (ends ? voice.ignoring : follows_ignored())) {
    for (Pending& one : found) dismiss(std::move(one.finding), IgnoredMatch::kCaught);
    return;
  }
  const bool nothing = found.empty();
  for (Pending& one : found) keep(voice, std::move(one));
  if (!nothing || voice.pending.empty()) return;
  if (!ends) note_ordinary(voice, line);
  if (shows_progress(line)) note_progress(voice);
  if (shows_success(line)) note_success(voice);
}

void LogScan::begin_traceback(RankLines& voice, std::string_view line, const Finding& base) {
  if (!voice.linked) voice.chain = ++chains_;
  if (!voice.linked) voice.handling = false;
  voice.linked = false;
  voice.in_traceback = true;
  voice.ignoring = follows_ignored();
  voice.frames.clear();
  voice.headers.clear();
  match_line(voice, line, base, false, voice.headers);
  for (Pending& header : voice.headers) show(header.finding);
}

// The scan skips most lines, so the line before the current one is read again.
bool LogScan::follows_ignored() {
  if (begin_ == 0) return false;
  const std::size_t before = line_begin(text_, 0, begin_ - 1);
  const std::string_view line = text_.substr(before, begin_ - 1 - before);
  const BareLine bare_line = bare(line, other_scratch_);
  return bare_line.rank == line_rank_ && precedes_ignored_exception(bare_line.text);
}

bool LogScan::match_line(RankLines& voice, std::string_view line, const Finding& base,
                         bool ends_traceback, std::vector<Pending>& out) {
  bool explained = false;
  for (const int potential : potentials(line)) {
    const auto at = static_cast<std::size_t>(potential);
    const Signature& signature = signatures_[at];
    if (!signature.within.empty() &&
        !(ends_traceback && signatures_.stands_within(at, voice.frames))) {
      continue;
    }
    auto span = signatures_.match(at, line);
    if (!span) continue;
    IgnoredMatch ignored = IgnoredMatch::kNone;
    if (!ends_traceback) {
      ignored = ignored_match_of(line, span->begin, span->end);
      // A match inside a path does not exclude a later match on the line.
      for (int names = 0; ignored == IgnoredMatch::kFileName && names < kMaxNames; ++names) {
        const auto next = signatures_.match(at, line, span->begin + 1);
        if (!next) break;
        span = next;
        ignored = ignored_match_of(line, span->begin, span->end);
      }
    }
    const bool by_scheduler = signature.priority < kSchedulerPriorities;
    if (by_scheduler && is_only_possible(line)) ignored = IgnoredMatch::kQuoted;
    Pending found;
    found.finding = base;
    found.finding.signature = at;
    found.finding.exception = ends_traceback || (signature.is_explicit && is_exception(line));
    found.finding.after_echo = voice.echoed;
    found.finding.from_end = line.size() - span->begin;
    found.chain = ends_traceback ? voice.chain : 0;
    found.lookup = ends_traceback && is_lookup(line);
    // Infrastructure logs real failures as information, and programs log their loss so. Other
    // information of programs is often hypothetical.
    const bool news =
        ignored == IgnoredMatch::kRemark && !signature.generic &&
        (signature.bucket == Bucket::kInfrastructure || signature.reason == Reason::kModelDiverged);
    // Resource managers report what they did to a job as information or as a warning.
    const bool action =
        by_scheduler && (ignored == IgnoredMatch::kRemark || ignored == IgnoredMatch::kWarning);
    if (ignored == IgnoredMatch::kNone || news || action) {
      explained = explained || signature.is_explicit || signature.echo;
      out.push_back(std::move(found));
    } else {
      dismiss(std::move(found.finding), ignored);
    }
  }
  return explained;
}

void LogScan::keep(RankLines& voice, Pending found) {
  const Signature& signature = signatures_[found.finding.signature];
  // The summary of a launcher follows any failure, so it does not make later lines secondary.
  if (signature.echo && signature.is_explicit) {
    voice.echoed = true;
    lines_of(-1).echoed = true;  // Lines without a rank can belong to that rank.
  }
  // An exception raised in the handler of a failed lookup replaces it, if it has precedence.
  if (found.chain != 0 && voice.handling && signature.is_explicit && !signature.echo) {
    for (auto earlier = voice.pending.begin(); earlier != voice.pending.end();) {
      if (earlier->chain == found.chain && earlier->lookup &&
          signatures_[earlier->finding.signature].priority > signature.priority) {
        dismiss(std::move(earlier->finding), IgnoredMatch::kHandled);
        earlier = voice.pending.erase(earlier);
      } else {
        ++earlier;
      }
    }
  }
  const auto like =
      std::find_if(voice.pending.begin(), voice.pending.end(), [&](const auto& other) {
        return other.finding.signature == found.finding.signature &&
               (other.finding.exception || !found.finding.exception);
      });
  if (like != voice.pending.end()) {
    if (found.chain == 0 || found.chain == like->chain || !went_on(*like)) return;
    dismiss(std::move(like->finding), IgnoredMatch::kCaught);
    voice.pending.erase(like);
  }
  show(found.finding);
  if (found.finding.line == line_) found.finding.time = time_before(text_, begin_, end_);
  voice.pending.push_back(std::move(found));
}

bool LogScan::went_on(const Pending& found) {
  return found.chain != 0 && found.ordinary >= (found.lookup ? 1 : kWentOnAfter);
}

void LogScan::note_ordinary(RankLines& voice, std::string_view line) {
  const auto counts = [](const Pending& found) { return found.ordinary < kWentOnAfter; };
  if (std::none_of(voice.pending.begin(), voice.pending.end(), counts)) return;
  if (!is_ordinary(line)) return;
  for (Pending& found : voice.pending) found.ordinary += counts(found) ? 1 : 0;
}

// Exceptions that the program caught and printed are not the cause if a later one ended it.
void LogScan::dismiss_caught(RankLines& voice) {
  const Pending* last = nullptr;
  for (const Pending& found : voice.pending) {
    const Signature& signature = signatures_[found.finding.signature];
    if (found.chain == 0 || found.ordinary > 0 || !signature.is_explicit || signature.echo)
      continue;
    if (last == nullptr || found.finding.line > last->finding.line) last = &found;
  }
  if (last == nullptr) return;
  const std::int64_t end = last->finding.line;
  const int chain = last->chain;
  for (auto found = voice.pending.begin(); found != voice.pending.end();) {
    const bool caught = found->chain != chain && found->finding.line < end && went_on(*found);
    if (caught) dismiss(std::move(found->finding), IgnoredMatch::kCaught);
    found = caught ? voice.pending.erase(found) : found + 1;
  }
}

void LogScan::note_progress(RankLines& voice) {
  for (auto found = voice.pending.begin(); found != voice.pending.end();) {
    const int most = found->finding.exception ? kExceptionSurvivedAfter : kSurvivedAfter;
    if (++found->progress < most) {
      ++found;
    } else {
      dismiss(std::move(found->finding), IgnoredMatch::kSurvived);
      found = voice.pending.erase(found);
    }
  }
  if (voice.pending.empty()) voice.echoed = false;
}

// A script prints its last words after any program, also one that failed. So the program must have
// made progress after the finding.
void LogScan::note_success(RankLines& voice) {
  for (auto found = voice.pending.begin(); found != voice.pending.end();) {
    const bool worked = found->progress > 0;
    if (worked) dismiss(std::move(found->finding), IgnoredMatch::kSurvived);
    found = worked ? voice.pending.erase(found) : found + 1;
  }
  if (voice.pending.empty()) voice.echoed = false;
}

void LogScan::dismiss(Finding finding, IgnoredMatch why) {
  const bool enough = dismissed_.size() >= kMaxDismissed ||
                      std::any_of(dismissed_.begin(), dismissed_.end(), [&](const Finding& other) {
                        return other.signature == finding.signature && other.ignored == why;
                      });
  if (enough) return;
  finding.ignored = why;
  show(finding);
  dismissed_.push_back(std::move(finding));
}

const std::vector<int>& LogScan::potentials(std::string_view line) {
  signatures_.literals().all(line, literals_);
  const auto known = known_.find(literals_);
  if (known != known_.end()) return known->second;
  some_potentials_ = literals_.empty() ? std::vector<int>() : signatures_.potentials(literals_);
  if (known_.size() >= kMaxKnown) return some_potentials_;
  return known_.emplace(literals_, some_potentials_).first->second;
}

std::vector<Finding> LogScan::finish() {
  std::vector<Finding> out;
  for (auto& [rank, voice] : voices_) {
    if (voice.in_traceback) {  // The log ends inside a traceback.
      voice.pending.insert(voice.pending.end(), voice.headers.begin(), voice.headers.end());
    }
    dismiss_caught(voice);
    for (Pending& found : voice.pending) out.push_back(std::move(found.finding));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Finding& a, const Finding& b) { return a.line < b.line; });
  out.insert(out.end(), dismissed_.begin(), dismissed_.end());
  voices_.clear();
  dismissed_.clear();
  busy_ = 0;
  return out;
}

}  // namespace muster
