#pragma once

// Whether a job that failed is tried again, where and when. A driver asks after every failed
// attempt, with what it has kept of the earlier ones; the policy itself remembers nothing.

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

// One failed attempt, and the servers it ran on; none if that is not known.
struct FailedAttempt {
  Reason reason = Reason::kNoSignature;
  std::vector<NodeId> servers;
  std::optional<Told> told = {};  // By a signature, if one knew it.

  Nature nature() const { return nature_of(reason, told); }
};

struct Verdict {
  enum class Next : std::uint8_t {
    kStop,            // The job has failed for good.
    kRetry,           // Anywhere.
    kRetryElsewhere,  // On none of the servers of the attempt that just failed, if there are
                      // others.
  };
  enum class Blames : std::uint8_t {
    kNobody,
    kServer,  // A strike against the server; see ServerBlame.
    kUser,    // The program or its inputs; see InputBlame.
  };
  Next next = Next::kStop;
  Duration wait;  // Before it may start again.
  Blames blames = Blames::kNobody;
  // For people: "no retry can fix it". Empty where the signature's own words say it best.
  std::string why;

  bool again() const { return next != Next::kStop; }
};

// "none": a failed job has failed. "fixed:N": N retries (1 to 100) whatever the reason, at once.
// "adaptive": by what the signature says, or else the reason.
//   deterministic     none
//   suspect           one, elsewhere; none if the job's input is known to be bad
//   passing           kMostRetries, after 1, 2, 4, ... minutes; at once if the signature says so
//   of the server     kMostRetries, elsewhere, and a strike against the server
// Retries are counted by the nature of the failure, so a job with bad luck of several kinds has
// more in all, but never more than 1 + 2 * kMostRetries. The same suspect or server reason twice,
// on servers of which none is the same, is taken as the user's fault: none. Only this policy
// blames. A preemption is no failure: under every policy the job goes on at once, and it does not
// count.
class RetryPolicy {
 public:
  enum class Kind : std::uint8_t { kNone, kFixed, kAdaptive };
  static constexpr int kMostRetries = 3;
  static constexpr Duration kFirstWait = Duration::seconds(60);

  static RetryPolicy none() { return {Kind::kNone, 0}; }
  static RetryPolicy fixed(int retries);
  static RetryPolicy adaptive() { return {Kind::kAdaptive, 0}; }

  Kind kind() const { return kind_; }
  std::string text() const;  // As parse_retry_policy reads it.

  // `earlier`: the job's other failed attempts, in order. `known_bad`: see InputBlame.
  Verdict decide(const FailedAttempt& failed, std::span<const FailedAttempt> earlier,
                 bool known_bad = false) const;

 private:
  RetryPolicy(Kind kind, int retries) : kind_(kind), retries_(retries) {}

  Kind kind_;
  int retries_;  // kFixed only.
};

Result<RetryPolicy> parse_retry_policy(std::string_view text);

}  // namespace muster
