#pragma once

// Edits a token file (tokens.h). Each edit replaces the file atomically and keeps its mode and
// owner. A lock on the directory prevents two edits at the same time. Used by `muster token`.

#include <string>
#include <string_view>
#include <vector>

#include "api/server/tokens.h"
#include "base/types/result.h"

namespace muster {

// Adds a line of token_line(). Creates a missing file with mode 0600.
MaybeError add_token(const std::string& path, std::string_view line);

// Removes the token with this name, or whose fingerprint begins with these 8 or more hexadecimal
// digits, and returns it. Errors: kNotFound, kConflict if several tokens match.
Result<TokenFacts> revoke_token(const std::string& path, std::string_view which);

}  // namespace muster
