#pragma once

// Failure signatures: patterns of log lines that show why an attempt ended. signatures_file.h reads
// them, LogScan finds them in logs, and classify() chooses among the matches.

#include <re2/filtered_re2.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/failure/reaction.h"
#include "engine/failure/reasons.h"
#include "exec/diagnose/literal_scan.h"

namespace muster {

struct Signature {
  std::string id;
  Reason reason = Reason::kNoSignature;
  bool is_explicit = true;  // Shows the cause; otherwise only that the process ended.
  // A secondary failure: the output of other workers when one is lost. Used only without another
  // cause.
  bool echo = false;
  // Text that also appears without a failure. Other explicit signatures have precedence, unless the
  // line is an exception.
  bool generic = false;
  Bucket bucket = Bucket::kUnknown;
  Reaction reaction = Reaction::kRetryElsewhere;
  int priority = 50;                  // On one line, the smallest value wins.
  std::vector<std::string> patterns;  // RE2, case-insensitive.
  std::vector<std::string> unless;    // Lines that match one of these are excluded.
  std::vector<std::string> within;    // One must match in the same traceback.
  std::string says;                   // One sentence without a period.
  std::string advice;
};

// Limits for signature files.
inline constexpr std::size_t kMaxSignatures = 1'000;
inline constexpr std::size_t kMaxPatterns = 64;  // Per signature and list.
inline constexpr std::size_t kMaxPatternBytes = 512;
inline constexpr std::size_t kMaxSaysBytes = 119;
inline constexpr std::size_t kMaxAdviceBytes = 400;
inline constexpr std::size_t kMinLiteral = 3;
inline constexpr int kMaxProgram = 20'000;  // RE2 instructions for one list of patterns.

// Returns why the pattern is invalid, or nullopt. `must_be_found`: a pattern of the list
// `patterns`, which needs kMinLiteral characters of literal text for the first scan.
std::optional<std::string> fault_in_pattern(const std::string& pattern, bool must_be_found);
// Returns why valid patterns cannot be combined into one, or nullopt.
std::optional<std::string> fault_together(const std::vector<std::string>& patterns);

// Compiled signatures. Immutable, so all threads can share one object. The constructor aborts on
// input that parsers reject: invalid patterns and duplicate ids. Construction is slow.
class Signatures {
 public:
  explicit Signatures(std::vector<Signature> list);

  std::span<const Signature> list() const { return list_; }
  const Signature& operator[](std::size_t at) const { return list_[at]; }
  std::optional<std::size_t> find(std::string_view id) const;

  // For the first scan, of all bytes. A line without a trigger cannot match.
  const LiteralScan& triggers() const { return *triggers_; }
  // For the second scan, of lines with a trigger: all literals of the patterns.
  const LiteralScan& literals() const { return *literals_; }
  // Returns the signatures that a line with these literals can match. Both lists are ascending and
  // without duplicates.
  std::vector<int> potentials(const std::vector<int>& literals) const;

  struct Span {
    std::size_t begin, end;
  };
  // Returns the match of signature `at` in the line from byte `from`; nullopt if none or if
  // `unless` matches.
  std::optional<Span> match(std::size_t at, std::string_view line, std::size_t from = 0) const;
  // Whether the traceback matches `within`; true if the signature has no `within`.
  bool stands_within(std::size_t at, std::string_view traceback) const;

 private:
  std::vector<std::string> choose_triggers(const std::vector<std::string>& literals) const;

  std::vector<Signature> list_;
  std::unique_ptr<re2::FilteredRE2> filtered_;  // Pattern i combines the patterns of signature i.
  std::vector<std::unique_ptr<re2::RE2>> unless_, within_;  // Null if the list is empty.
  std::unique_ptr<LiteralScan> literals_, triggers_;
};

// Returns `own`, followed by the signatures of `builtin` whose ids are not in `own`.
std::vector<Signature> merged(std::vector<Signature> own, std::vector<Signature> builtin);

}  // namespace muster
