#pragma once

// The evidence for the reason of a failed attempt.

#include <cstdint>
#include <optional>
#include <string>

#include "engine/failure/reaction.h"

namespace muster {

// The log line that explains a failed lease, and the data of its signature.
struct FailureEvidence {
  std::string signature;  // Name of the matching signature; empty: none matched.
  std::string evidence;   // The log line, or other evidence if there is none.
  std::int64_t line = 0;  // Line number; 0: no line.
  std::string advice;     // Advice for the user; may be empty.
  std::optional<SignatureReaction> told = {};  // Specified reaction; missing in old journals.
  friend bool operator==(const FailureEvidence&, const FailureEvidence&) = default;
};

}  // namespace muster
