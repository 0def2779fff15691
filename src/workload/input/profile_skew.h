#pragma once

// Edits a profiles file: sets the skew of one model. `muster layers` uses it.

#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

// Returns the text of the file with the new skew; all other bytes, including comments, stay the
// same. A missing profile is added with its name and skew; an empty text becomes a file with it.
// Guarantees that the result reads as the same profiles except for the skew.
//
// Errors are those of read_profiles(), an invalid name, and a file in which it cannot find the
// place for the skew. `file` is used as the path in messages.
Result<std::string> with_skew(std::string_view text, const std::string& file,
                              const std::string& profile, double skew);

}  // namespace muster
