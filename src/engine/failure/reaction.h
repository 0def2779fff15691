#pragma once

// What to do about a failure, as a signature of failure says it. The retry policy acts on it; where
// there is no signature it goes by the nature of the reason.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/failure/reasons.h"

namespace muster {

enum class Reaction : std::uint8_t {  // In the words of Verdict (engine/failure/retry.h), the first
                                      // time.
  kStop,                              // No retry can fix it.
  kRetry,                             // At once, anywhere.
  kRetryElsewhere,                    // On other servers.
  kBackOff,                           // After a while: what is wrong may pass.
};
inline constexpr std::size_t kReactionCount = 4;

// What the adaptive retry policy does at the first failure for this reason.
Reaction reaction_to(Reason reason);
std::string_view key_of(Reaction reaction);       // "retry-elsewhere"
std::string_view sentence_of(Reaction reaction);  // For people.
std::optional<Reaction> find_reaction(std::string_view key);
std::string_view key_of(Bucket bucket);  // "user", "engine", "infrastructure", "unknown".
std::optional<Bucket> find_bucket(std::string_view key);

// What a signature says of one failure beside its reason.
struct Told {
  Reaction reaction = Reaction::kStop;
  Bucket bucket = Bucket::kUnknown;
  friend bool operator==(const Told&, const Told&) = default;
};

// What the failure says about the next attempt: by the signature, if there was one, since reasons
// are coarse. A missing file and a file server that hangs are both incorrect inputs.
Nature nature_of(Reason reason, const std::optional<Told>& told);

}  // namespace muster
