#pragma once

// Decides whether, where and when a failed job is retried. The engine calls decide() after each
// failed attempt, with the earlier ones. The policy itself is stateless.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/id.h"
#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/failure/reaction.h"
#include "engine/failure/reasons.h"

namespace muster {

// One failed attempt and the nodes it ran on; empty: unknown.
struct FailedAttempt {
  Reason reason = Reason::kNoSignature;
  std::vector<NodeId> nodes;
  std::optional<SignatureReaction> told = {};  // From the matching signature, if any.

  RetryClass nature() const { return nature_of(reason, told); }
};

struct Verdict {
  enum class Next : std::uint8_t {
    kStop,            // The job has failed and is not retried.
    kRetry,           // On any node.
    kRetryElsewhere,  // On nodes other than those of the failed attempt, if there are any.
  };
  enum class Blames : std::uint8_t {
    kNobody,
    kNode,  // The node gets a strike; see NodeBlame.
    kUser,  // The program or its inputs; see InputBlame.
  };
  Next next = Next::kStop;
  Duration wait;  // Back-off time before the job may start again.
  Blames blames = Blames::kNobody;
  // Human-readable reason: "no retry can fix it". Empty if the message of the signature is enough.
  std::string why;

  bool again() const { return next != Next::kStop; }
};

// Rule for retries (--retry). "none": no retries. "fixed:N": N immediate retries (1 to 100), for
// any reason. "adaptive": by the retry class, from the signature or else from the reason:
//   deterministic     no retry
//   suspect           one, on other nodes; none if the input of the job is known to be bad
//   passing           kMaxRetries, after 1, 2, 4, ... minutes, or immediately for Reaction::kRetry
//   server            kMaxRetries, on other nodes, and a strike against the node
// Each class has its own count of retries, so a job has at most 1 + 2 * kMaxRetries in total. The
// same suspect or server reason twice, on entirely different nodes, counts as a fault of the user:
// no retry. Only "adaptive" blames nodes and users. A preemption is not a failure: under every
// policy the job restarts immediately, and the preemption does not count.
class RetryPolicy {
 public:
  enum class Kind : std::uint8_t { kNone, kFixed, kAdaptive };
  static constexpr int kMaxRetries = 3;
  static constexpr Duration kFirstWait = Duration::seconds(60);

  static RetryPolicy none() { return {Kind::kNone, 0}; }
  static RetryPolicy fixed(int retries);
  static RetryPolicy adaptive() { return {Kind::kAdaptive, 0}; }

  Kind kind() const { return kind_; }
  std::string text() const;  // The format of parse_retry_policy().

  // `earlier`: earlier failed attempts of the job, in order. `known_bad`: see InputBlame.
  Verdict decide(const FailedAttempt& failed, std::span<const FailedAttempt> earlier,
                 bool known_bad = false) const;

 private:
  RetryPolicy(Kind kind, int retries) : kind_(kind), retries_(retries) {}

  Kind kind_;
  int retries_;  // kFixed only.
};

Result<RetryPolicy> parse_retry_policy(std::string_view text);

}  // namespace muster
