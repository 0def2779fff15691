#pragma once

// Determines why an attempt failed, from the facts of the scheduler, the way its processes ended
// and their output. Pure functions: the same input always gives the same diagnosis.
//
//   const Signatures signatures(builtin_signatures());  // Create once; see signatures_file.h.
//   AttemptLogs attempt;
//   attempt.facts.oom_kills = 1;                        // All facts are optional.
//   attempt.ranks.push_back({0, tail_of_log, 1, 137, {}, {}});  // One per process.
//   const Diagnosis diagnosis = classify(attempt, signatures);
//
// Sources in order of precedence: facts of the scheduler; explicit signatures, in a gang the
// earliest that is not a secondary failure; implicit signatures; the ends of processes; secondary
// failures. A match in a warning, in a quotation, or before training continued is not a cause.

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

// Facts of the scheduler about the attempt.
struct SchedulerFacts {
  bool preempted = false;
  bool node_lost = false;
  bool over_time_limit = false;
  std::optional<int> oom_kills;  // By the memory limit of the control group; nullopt if unknown.
};

// How one process of the attempt ended.
struct ProcessEnd {
  int rank = 0;
  std::optional<int> exit_code;  // As in a shell: 137 is the same as signal 9.
  std::optional<int> signal;
  std::optional<std::int64_t> at;  // End time, in any unit that is the same for all ranks.
};

struct RankLog {
  int rank = 0;
  std::string_view text;        // The output, or its last part.
  std::int64_t first_line = 1;  // Line number of the first line of `text`.
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
  std::string signature;  // Id; "scheduler-..." or "exit-..." if no line; empty if none.
  std::string evidence;   // The line or the fact; UTF-8 without control characters.
  int rank = -1;          // Rank of the evidence; -1 if none.
  std::size_t log = 0;    // Index of the log that contains the line.
  std::int64_t line = 0;  // Line number; 0 if none.
  std::string says;       // One human-readable sentence, below 120 bytes, without a period.
  std::string advice;     // Can be empty.

  bool found() const { return !signature.empty(); }
};

Diagnosis classify(const AttemptLogs& attempt, const Signatures& signatures);

// Like classify(), for logs that are already scanned: findings[i] is the result of
// LogScan::finish() for log i, and ends[i] is the end of its process.
Diagnosis decide(const SchedulerFacts& facts, std::span<const std::vector<Finding>> findings,
                 std::span<const ProcessEnd> ends, const Signatures& signatures);

// A finding and why it was chosen or not. explain() sorts them by log and line. For testing of
// signatures.
struct Explanation {
  std::size_t log = 0;
  Finding finding;
  std::string_view why;
};
std::vector<Explanation> explain(const Diagnosis& diagnosis,
                                 std::span<const std::vector<Finding>> findings,
                                 const Signatures& signatures);

}  // namespace muster
