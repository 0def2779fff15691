#pragma once

// The reaction to a failure that its signature specifies. The retry policy follows it. Without a
// signature the policy uses the retry class of the reason.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/failure/reasons.h"

namespace muster {

// The reaction to the first such failure; Verdict (engine/failure/retry.h) uses the same terms.
enum class Reaction : std::uint8_t {
  kStop,            // Do not retry: no retry can fix it.
  kRetry,           // Retry immediately, on any node.
  kRetryElsewhere,  // Retry on other nodes.
  kBackOff,         // Retry after a delay, because the cause may pass.
};
inline constexpr std::size_t kReactionCount = 4;

// Returns the reaction of the adaptive retry policy to the first failure for this reason.
Reaction reaction_to(Reason reason);
std::string_view key_of(Reaction reaction);       // "retry-elsewhere"
std::string_view sentence_of(Reaction reaction);  // Human-readable: "retry it on other nodes".
std::optional<Reaction> find_reaction(std::string_view key);
std::string_view key_of(Bucket bucket);  // "user", "engine", "infrastructure", "unknown".
std::optional<Bucket> find_bucket(std::string_view key);

// The data that a signature adds to the reason of a failure.
struct SignatureReaction {
  Reaction reaction = Reaction::kStop;
  Bucket bucket = Bucket::kUnknown;
  friend bool operator==(const SignatureReaction&, const SignatureReaction&) = default;
};

// Returns the retry class of a failure: from the signature, if there is one, because reasons are
// coarse. For example, a missing file and a file server that hangs are both incorrect inputs.
RetryClass nature_of(Reason reason, const std::optional<SignatureReaction>& told);

}  // namespace muster
