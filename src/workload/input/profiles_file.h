#pragma once

// Reads profiles of models (speeds by CPUs and memory): files in Muster's own format
// (docs/reference/formats.md, "Profiles"), profiles of the Synergy project as JSON, and the
// built-in zoo.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/id.h"
#include "base/types/result.h"
#include "engine/model/profile.h"

namespace muster {

// Other data about a model. Empty or zero if the file does not contain it.
struct ProfileFacts {
  std::string task;        // Such as "image" or "language"; used to draw mixes of jobs.
  std::int64_t batch = 0;  // Samples per step.
};

struct ProfileFile {
  ProfileTable table;
  IdVector<ProfileId, ProfileFacts> facts;  // One per profile of the table, also the unknown one.
  // One line for each kind of changed or ignored value; the caller shows them to the user.
  // Examples: values raised because they fell, matrices divided by their reference, ignored
  // entries.
  std::vector<std::string> notes;
};

// Reads the file once before a run. Detects the format from the content. Returns the first error
// with file and line.
Result<ProfileFile> read_profiles(const std::string& path);

// Like read_profiles(), from memory. `name` is used as the path in messages.
Result<ProfileFile> parse_profiles(std::string_view text, const std::string& name);

// Returns the models of profiles/zoo.yaml, which are compiled into the program: ten with speeds,
// and nine of Tiresias' traces with sizes only.
ProfileFile builtin_zoo();
ProfileTable builtin_profiles();  // Returns only the table of builtin_zoo().

}  // namespace muster
