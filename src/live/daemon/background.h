#pragma once

// A manager that runs without a terminal: started so that it outlives us, and ended again. Used by
// `muster serve --background` and `--stop`.

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// Starts this very program with these words, its output in `log`, and waits until something answers
// at `socket`. Refuses with what it said last if it ends before.
Refusal start_in_background(const std::vector<std::string>& words, const std::string& log,
                            const std::string& socket);

// Ends the manager of that home and waits until it has. Its jobs go on.
Refusal end_manager(const std::string& home);

// Whether a manager answers there, within a second. A process that was killed but is still being
// taken apart, or is frozen, does not.
bool answers(const std::string& socket);

enum class Standing : std::uint8_t {
  kFree,    // Nobody has the home's journal.
  kServes,  // Somebody has, and answers.
  kSilent,  // Somebody has, and has not answered for all that time.
};
// Who has that home: waits for one that is just starting, or just dying.
Standing standing_of(const std::string& home, const std::string& socket,
                     Duration patience = Duration::seconds(30));

}  // namespace muster
