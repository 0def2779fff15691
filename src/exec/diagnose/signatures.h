#pragma once

// Signatures of failure: what a line of a log says about why an attempt ended. config/ reads them
// from files, LogScan looks for them, classify() chooses among those found.

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
  bool is_explicit = true;  // Says why it died; otherwise only that it died.
  // What the other workers of a gang print when one is gone: no cause where there is another.
  bool echo = false;
  // Words that also stand where nothing is wrong: believed after all others unless an exception.
  bool generic = false;
  Bucket bucket = Bucket::kUnknown;
  Reaction reaction = Reaction::kRetryElsewhere;
  int priority = 50;                  // Of several on one line the least wins.
  std::vector<std::string> patterns;  // RE2; capitals and small letters are the same.
  std::vector<std::string> unless;    // A line with one of these is none.
  std::vector<std::string> within;    // One must be in the same traceback.
  std::string says;                   // One sentence, no full stop.
  std::string advice;
};

// Limits that keep anybody's file harmless.
inline constexpr std::size_t kMostSignatures = 1'000;
inline constexpr std::size_t kMostPatterns = 64;  // Of one signature, of one kind.
inline constexpr std::size_t kMostPatternBytes = 512;
inline constexpr std::size_t kMostSaysBytes = 119;
inline constexpr std::size_t kMostAdviceBytes = 400;
inline constexpr std::size_t kLeastLiteral = 3;
inline constexpr int kMostProgram = 20'000;  // Instructions of RE2 for patterns of one kind.

// Why the pattern cannot be used, or nothing. `must_be_found`: a pattern that starts the work,
// which needs kLeastLiteral letters of plain text for the first pass to look for.
std::optional<std::string> fault_in_pattern(const std::string& pattern, bool must_be_found);
// Why patterns that are good alone cannot be used as one, or nothing.
std::optional<std::string> fault_together(const std::vector<std::string>& patterns);

// Signatures ready for use. Immutable, so that one serves all threads. CHECKs what a reader should
// have refused: bad patterns, equal ids, too many.
class Signatures {
 public:
  explicit Signatures(std::vector<Signature> list);

  std::span<const Signature> list() const { return list_; }
  const Signature& operator[](std::size_t at) const { return list_[at]; }
  std::optional<std::size_t> find(std::string_view id) const;

  // The first pass over all bytes: where there may be a match. A line without a trigger has none.
  const LiteralScan& triggers() const { return *triggers_; }
  // The second, over lines with a trigger: all literals that patterns need.
  const LiteralScan& literals() const { return *literals_; }
  // The signatures that a line with these literals (ascending, each once) may match; ascending.
  std::vector<int> potentials(const std::vector<int>& literals) const;

  struct Span {
    std::size_t begin, end;
  };
  // Where in the line, from byte `from` on, it matches, if it does and no `unless` does.
  std::optional<Span> match(std::size_t at, std::string_view line, std::size_t from = 0) const;
  // Whether the traceback satisfies `within`; true if there is none.
  bool stands_within(std::size_t at, std::string_view traceback) const;

 private:
  std::vector<std::string> choose_triggers(const std::vector<std::string>& literals) const;

  std::vector<Signature> list_;
  std::unique_ptr<re2::FilteredRE2> filtered_;  // Pattern i is all of signature i's in one.
  std::vector<std::unique_ptr<re2::RE2>> unless_, within_;  // Null where there are none.
  std::unique_ptr<LiteralScan> literals_, triggers_;
};

// `own` before `builtin`, whose signatures of the same ids are left out.
std::vector<Signature> merged(std::vector<Signature> own, std::vector<Signature> builtin);

}  // namespace muster
