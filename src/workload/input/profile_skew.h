#pragma once

// Writes one fact into a file of profiles: how skewed a model is.

#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

// The file's text with the skew of that profile set, and every other byte as it was, remarks too. A
// profile that is not there yet is put at the end, with its name and skew alone; an empty text
// becomes a file of that one. Called once, by a command that then writes the file.
//
// Refuses what read_profiles() refuses, a name that is none, and a file written so unusually that
// the place cannot be found; `file` stands for it in messages. What is returned reads back as the
// same profiles but for that skew.
Result<std::string> with_skew(std::string_view text, const std::string& file,
                              const std::string& profile, double skew);

}  // namespace muster
