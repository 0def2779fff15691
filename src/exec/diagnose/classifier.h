#pragma once

// Why an attempt failed, from what the scheduler knows, how its processes ended and what they
// printed. Pure: the same attempt and signatures always give the same diagnosis.
//
//   const Signatures signatures(builtin_signatures());           //
//   exec/diagnose/signatures_file.h; once AttemptLogs attempt; attempt.facts.oom_kills = 1; // what
//   is known; nothing must be attempt.ranks.push_back({0, tail_of_log, 1, 137, {}, {}});   // one
//   for each process const Diagnosis diagnosis = classify(attempt, signatures);
//
// In order: facts of the scheduler; explicit signatures, in a gang the earliest that is no echo of
// another's end; implicit ones; how processes ended; echoes; else no signature. What stands in a
// warning, in a quotation, or before training went on is no cause.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/failure/reasons.h"
#include "exec/diagnose/log_scan.h"
#include "exec/diagnose/signatures.h"

namespace muster {

// What the scheduler itself knows of the attempt.
struct SchedulerFacts {
  bool preempted = false;
  bool node_lost = false;
  bool over_time_limit = false;
  std::optional<int> oom_kills;  // By the control group's limit of memory; nothing: not known.
};

// How one process of the attempt ended.
struct ProcessEnd {
  int rank = 0;
  std::optional<int> exit_code;  // As a shell has it: 137 is the same as signal 9.
  std::optional<int> signal;
  std::optional<std::int64_t> at;  // When, in any unit that all ranks share.
};

struct RankLog {
  int rank = 0;
  std::string_view text;        // Its output, or the end of it.
  std::int64_t first_line = 1;  // The number of its first line.
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::optional<std::int64_t> ended_at;
};

struct AttemptLogs {
  SchedulerFacts facts;
  std::vector<RankLog> ranks;
};

struct Diagnosis {
  Reason reason = Reason::kNoSignature;
  Bucket bucket = Bucket::kUnknown;
  bool is_explicit = false;
  Reaction reaction = Reaction::kRetryElsewhere;
  std::string signature;  // Its id; "scheduler-..." or "exit-..." without a line; empty if none.
  std::string evidence;   // The line, or the fact: UTF-8 without control characters.
  int rank = -1;          // Whose; -1: of none.
  std::size_t log = 0;    // Which of the logs the line is in.
  std::int64_t line = 0;  // 0: no line.
  std::string says;       // One sentence for people, below 120 bytes, without a full stop.
  std::string advice;     // May be empty.

  bool found() const { return !signature.empty(); }
};

Diagnosis classify(const AttemptLogs& attempt, const Signatures& signatures);

// The same for who has scanned the logs already; findings[i] is what LogScan::finish() gave for log
// i, and ends[i] how its process ended.
Diagnosis decide(const SchedulerFacts& facts, std::span<const std::vector<Finding>> findings,
                 std::span<const ProcessEnd> ends, const Signatures& signatures);

// For rules under test: each finding and why it was or was not chosen, in order of log and line.
struct Explanation {
  std::size_t log = 0;
  Finding finding;
  std::string_view why;
};
std::vector<Explanation> explain(const Diagnosis& diagnosis,
                                 std::span<const std::vector<Finding>> findings,
                                 const Signatures& signatures);

}  // namespace muster
