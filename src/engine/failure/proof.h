#pragma once

// The evidence for the reason of a failed attempt.

#include <cstdint>
#include <optional>
#include <string>

#include "engine/failure/reaction.h"

namespace muster {

// The line of a log that says why a lease failed, and what its signature says about that.
struct Proof {
  std::string signature;          // By which it was told; empty: nothing was found.
  std::string evidence;           // The line, or what was known without one.
  std::int64_t line = 0;          // 0: no line.
  std::string advice;             // For the user; may be empty.
  std::optional<Told> told = {};  // What to do; journals of before do not have it.
  friend bool operator==(const Proof&, const Proof&) = default;
};

}  // namespace muster
