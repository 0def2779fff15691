#pragma once

// Reads what is known of models' speeds: files of our own format (docs/formats.md, "Profiles"), the
// profiles of the Synergy project as JSON, and the zoo built into the program.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/id.h"
#include "base/types/result.h"
#include "engine/model/profile.h"

namespace muster {

// What a file says of a model beside its speed. Empty or zero when it does not.
struct ProfileFacts {
  std::string task;        // "image", "language", ...: mixes of jobs are drawn by it.
  std::int64_t batch = 0;  // Samples a step.
};

struct ProfileFile {
  ProfileTable table;
  IdVector<ProfileId, ProfileFacts> facts;  // One for each of the table, the unknown one too.
  // What was read otherwise than written, one line each, to be shown to the user once: values
  // raised because they fell, matrices divided by their reference, entries passed over.
  std::vector<std::string> notes;
};

// Called once, before a run. Tells the two forms apart by their content, whatever the file is
// called. Refuses the whole file at the first thing wrong in it.
Result<ProfileFile> read_profiles(const std::string& path);

// The same from memory; `name` stands for the file in messages.
Result<ProfileFile> parse_profiles(std::string_view text, const std::string& name);

// The ten models of profiles/zoo.yaml as the program was built with.
ProfileFile builtin_zoo();
ProfileTable builtin_profiles();  // Its table alone.

}  // namespace muster
