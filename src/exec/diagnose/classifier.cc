#include "exec/diagnose/classifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace muster {

namespace {

// Rank of a finding. The smallest value wins.
enum Worth : int {
  kCause = 0,        // Explicit.
  kLikelyCause = 1,  // Explicit, but generic text that also appears without a failure.
  kDeath = 2,        // Implicit.
  kEchoOfCause = 3,
  kEchoOfDeath = 4,
  kHint = 5,  // Implicit and generic: counts only if nothing else shows a reason.
  kNothing = 6,
};

Worth worth_of(const Finding& finding, const Signature& signature) {
  if (finding.ignored != IgnoredMatch::kNone) return kNothing;
  if (signature.echo) return signature.is_explicit ? kEchoOfCause : kEchoOfDeath;
  if (!signature.is_explicit && signature.generic) return kHint;
  if (!signature.is_explicit) return finding.after_echo ? kEchoOfDeath : kDeath;
  return signature.generic && !finding.exception ? kLikelyCause : kCause;
}

struct Candidate {
  std::size_t log;
  const Finding* finding;
  const Signature* signature;
};

// Returns the first finding of each log; on one line, the one with the smallest priority value.
std::vector<Candidate> first_of_each(std::span<const std::vector<Finding>> findings, Worth worth,
                                     const Signatures& signatures) {
  std::vector<Candidate> out;
  for (std::size_t log = 0; log < findings.size(); ++log) {
    const Candidate* best = nullptr;
    std::vector<Candidate> here;
    for (const Finding& finding : findings[log]) {
      const Signature& signature = signatures[finding.signature];
      if (worth_of(finding, signature) == worth) here.push_back({log, &finding, &signature});
    }
    for (const Candidate& one : here) {
      const auto key = [](const Candidate& c) {
        return std::tuple(c.finding->line, c.signature->priority, c.finding->signature);
      };
      if (best == nullptr || key(one) < key(*best)) best = &one;
    }
    if (best != nullptr) out.push_back(*best);
  }
  return out;
}

// Chooses by time if all lines have one, else by the end times of the processes if all are known,
// else by priority.
const Candidate& earliest(const std::vector<Candidate>& candidates,
                          std::span<const ProcessEnd> ends) {
  const bool timed = std::all_of(candidates.begin(), candidates.end(), [](const Candidate& one) {
    return one.finding->time.has_value();
  });
  const bool ended = std::all_of(candidates.begin(), candidates.end(), [&](const Candidate& one) {
    return one.log < ends.size() && ends[one.log].at.has_value();
  });
  const auto key = [&](const Candidate& one) {
    const std::int64_t when = timed ? *one.finding->time : ended ? *ends[one.log].at : 0;
    return std::tuple(when, one.signature->priority, one.finding->rank, one.log);
  };
  return *std::min_element(candidates.begin(), candidates.end(),
                           [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
}

Diagnosis from(const Candidate& chosen) {
  const Signature& signature = *chosen.signature;
  return {signature.reason,     signature.bucket,         signature.is_explicit, signature.reaction,
          signature.id,         chosen.finding->evidence, chosen.finding->rank,  chosen.log,
          chosen.finding->line, signature.says,           signature.advice};
}

Diagnosis of_fact(Reason reason, Bucket bucket, Reaction reaction, std::string_view id,
                  std::string_view says, std::string_view advice) {
  Diagnosis out;
  out.reason = reason;
  out.bucket = bucket;
  out.is_explicit = true;
  out.reaction = reaction;
  out.signature = id;
  out.evidence = says;
  out.says = says;
  out.advice = advice;
  return out;
}

std::optional<Diagnosis> by_facts(const SchedulerFacts& facts) {
  if (facts.preempted) {
    return of_fact(Reason::kPreempted, Bucket::kInfrastructure, Reaction::kRetry,
                   "scheduler-preempted", "the scheduler preempted the job for another job", "");
  }
  if (facts.node_lost) {
    return of_fact(Reason::kMpiRuntimeFailure, Bucket::kInfrastructure, Reaction::kRetryElsewhere,
                   "scheduler-node-lost", "a node of the job was lost", "");
  }
  if (facts.oom_kills.value_or(0) > 0) {
    return of_fact(
        Reason::kCpuOutOfMemory, Bucket::kUser, Reaction::kStop, "scheduler-oom-kill",
        "the job was killed because it exceeded its memory limit",
        "Request more with --mem, or load less data at a time with fewer or smaller data workers.");
  }
  if (facts.over_time_limit) {
    return of_fact(Reason::kNoSignature, Bucket::kUser, Reaction::kStop, "scheduler-time-limit",
                   "the job reached its time limit",
                   "Request more time, or save checkpoints and resume from the last one.");
  }
  return std::nullopt;
}

// The diagnosis for an exit code or signal without a matching line.
struct EndWords {
  int signal;     // 0 if identified by exit_code only.
  int exit_code;  // With a signal: the code that a shell reports.
  Reason reason;
  Reaction reaction;
  std::string_view id;
  std::string_view says;
};
constexpr int kKill = 9;
constexpr int kTerm = 15;
constexpr int kInt = 2;
constexpr std::array<EndWords, 11> kEnds = {{
    {11, 139, Reason::kInvalidMemoryAccess, Reaction::kRetryElsewhere, "exit-segmentation-fault",
     "the job crashed on an invalid memory access (SIGSEGV)"},
    {7, 135, Reason::kInvalidMemoryAccess, Reaction::kRetryElsewhere, "exit-bus-error",
     "the job crashed on an invalid memory access (SIGBUS)"},
    {6, 134, Reason::kCoreDump, Reaction::kRetryElsewhere, "exit-abort",
     "the job aborted (SIGABRT)"},
    {4, 132, Reason::kCoreDump, Reaction::kRetryElsewhere, "exit-illegal-instruction",
     "the job executed an instruction that this CPU does not support (SIGILL)"},
    {8, 136, Reason::kCoreDump, Reaction::kRetryElsewhere, "exit-arithmetic",
     "the job had an arithmetic error, such as a division by zero (SIGFPE)"},
    {kKill, 137, Reason::kCpuOutOfMemory, Reaction::kStop, "exit-killed",
     "the job was killed (SIGKILL), probably because it was out of memory"},
    {0, 127, Reason::kSemanticError, Reaction::kStop, "exit-command-not-found",
     "the command was not found"},
    {0, 126, Reason::kPermissionError, Reaction::kStop, "exit-not-executable",
     "the command is not executable"},
    {0, -102, Reason::kPreempted, Reaction::kRetry, "exit-preempted",
     "the job was preempted (YARN's exit code -102)"},
    {kInt, 130, Reason::kNoSignature, Reaction::kStop, "exit-interrupted",
     "the job was interrupted (SIGINT)"},
    {kTerm, 143, Reason::kNoSignature, Reaction::kRetryElsewhere, "exit-terminated",
     "the job was terminated (SIGTERM), and the log shows no reason"},
}};

const EndWords* words_for(const ProcessEnd& end) {
  for (const EndWords& words : kEnds) {
    if (end.signal.value_or(0) > 0 && *end.signal == words.signal) return &words;
    if (end.exit_code.value_or(0) != 0 && *end.exit_code == words.exit_code) return &words;
    // Launchers in Python print a signal as a negative code.
    if (words.signal > 0 && end.exit_code && *end.exit_code == -words.signal) return &words;
  }
  return nullptr;
}

Diagnosis of_end(const ProcessEnd& end, const EndWords& words, const SchedulerFacts& facts,
                 std::size_t log) {
  Diagnosis out;
  out.reason = words.reason;
  out.reaction = words.reaction;
  out.signature = words.id;
  out.says = words.says;
  if (words.signal == kKill && facts.oom_kills == 0) {
    out.reason = Reason::kNoSignature;
    out.reaction = Reaction::kRetryElsewhere;
    out.says = "the job was killed (SIGKILL), but not because of its memory usage";
  }
  out.bucket = info_of(out.reason).bucket();
  out.rank = end.rank;
  out.log = log;
  out.evidence = end.signal.value_or(0) > 0
                     ? fmt::format("signal {}", *end.signal)
                     : fmt::format("exit code {}", end.exit_code.value_or(0));
  return out;
}

// Returns the ends of the ranks that were terminated (`asked`), or of the ranks that ended by
// themselves. The others get no exit code and signal. Launchers send SIGTERM to all ranks when one
// has failed. A rank that reported the loss of a peer ended because of that loss.
std::vector<ProcessEnd> ends_of(std::span<const std::vector<Finding>> findings,
                                std::span<const ProcessEnd> ends, const Signatures& signatures,
                                bool asked) {
  std::vector<ProcessEnd> out(ends.begin(), ends.end());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const EndWords* const words = words_for(out[i]);
    const bool was_asked = words != nullptr && (words->signal == kTerm || words->signal == kInt);
    const bool echoed =
        i < findings.size() &&
        std::any_of(findings[i].begin(), findings[i].end(), [&](const Finding& one) {
          return one.ignored == IgnoredMatch::kNone && signatures[one.signature].echo;
        });
    if (was_asked != asked || echoed) out[i] = {out[i].rank, {}, {}, {}};
  }
  return out;
}

// Chooses the process that ended first or, without end times, the first match in kEnds.
std::optional<Diagnosis> by_ends(const SchedulerFacts& facts, std::span<const ProcessEnd> ends) {
  std::optional<std::size_t> best;
  const auto key = [&](std::size_t i) {
    return std::tuple(ends[i].at.value_or(0), words_for(ends[i]) - kEnds.data(), ends[i].rank, i);
  };
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (words_for(ends[i]) == nullptr) continue;
    if (!best || key(i) < key(*best)) best = i;
  }
  if (!best) return std::nullopt;
  return of_end(ends[*best], *words_for(ends[*best]), facts, *best);
}

Diagnosis nothing_known() {
  Diagnosis out;
  out.reaction = reaction_to(Reason::kNoSignature);
  out.says = "the log does not show why the job ended";
  return out;
}

}  // namespace

Diagnosis decide(const SchedulerFacts& facts, std::span<const std::vector<Finding>> findings,
                 std::span<const ProcessEnd> ends, const Signatures& signatures) {
  if (std::optional<Diagnosis> known = by_facts(facts)) return *std::move(known);
  for (const Worth worth : {kCause, kLikelyCause, kDeath}) {
    const std::vector<Candidate> candidates = first_of_each(findings, worth, signatures);
    if (!candidates.empty()) return from(earliest(candidates, ends));
  }
  const std::vector<ProcessEnd> alone = ends_of(findings, ends, signatures, false);
  if (std::optional<Diagnosis> known = by_ends(facts, alone)) return *std::move(known);
  for (const Worth worth : {kEchoOfCause, kEchoOfDeath, kHint}) {
    const std::vector<Candidate> candidates = first_of_each(findings, worth, signatures);
    if (!candidates.empty()) return from(earliest(candidates, ends));
  }
  const std::vector<ProcessEnd> asked = ends_of(findings, ends, signatures, true);
  if (std::optional<Diagnosis> known = by_ends(facts, asked)) return *std::move(known);
  return nothing_known();
}

Diagnosis classify(const AttemptLogs& attempt, const Signatures& signatures) {
  std::vector<std::vector<Finding>> findings;
  std::vector<ProcessEnd> ends;
  for (const RankLog& log : attempt.ranks) {
    LogScan scan(signatures, log.rank, log.first_line);
    scan.feed(log.text);
    findings.push_back(scan.finish());
    ends.push_back({log.rank, log.exit_code, log.signal, log.ended_at});
  }
  return decide(attempt.facts, findings, ends, signatures);
}

std::vector<Explanation> explain(const Diagnosis& diagnosis,
                                 std::span<const std::vector<Finding>> findings,
                                 const Signatures& signatures) {
  std::vector<Explanation> out;
  Worth best = kNothing;
  for (const std::vector<Finding>& log : findings) {
    for (const Finding& one : log) best = std::min(best, worth_of(one, signatures[one.signature]));
  }
  for (std::size_t log = 0; log < findings.size(); ++log) {
    for (const Finding& one : findings[log]) {
      const Signature& signature = signatures[one.signature];
      const Worth worth = worth_of(one, signature);
      std::string_view why = "a later line, or another signature on this line has precedence";
      if (one.ignored != IgnoredMatch::kNone) {
        why = words_of(one.ignored);
      } else if (diagnosis.log == log && diagnosis.line == one.line &&
                 diagnosis.signature == signature.id) {
        why = "chosen";
      } else if (diagnosis.line == 0) {
        why = "facts about the end of the job have precedence";
      } else if ((worth == kEchoOfCause || worth == kEchoOfDeath) && best < kEchoOfCause) {
        why = "a secondary failure";
      } else if (worth == kDeath && best < kDeath) {
        why = "shows only that it ended; another line shows the cause";
      } else if (worth == kHint && best < kHint) {
        why = "a complaint after which the program continued; another line shows the cause";
      } else if (worth == kLikelyCause && best == kCause) {
        why = "generic text; another line is more certain";
      } else if (diagnosis.log != log) {
        why = "another rank failed first";
      }
      out.push_back({log, one, why});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Explanation& a, const Explanation& b) {
    return std::tuple(a.log, a.finding.line) < std::tuple(b.log, b.finding.line);
  });
  return out;
}

}  // namespace muster
