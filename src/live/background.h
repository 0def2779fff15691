#pragma once

// A manager that runs without a terminal: started so that it outlives us, and ended again. Used by
// `muster serve --background` and `--stop`.

#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

// Starts this very program with these words, its output in `log`, and waits until something answers
// at `socket`. Refuses with what it said last if it ends before.
Refusal start_in_background(const std::vector<std::string>& words, const std::string& log,
                            const std::string& socket);

// Ends the manager of that home and waits until it has. Its jobs go on.
Refusal end_manager(const std::string& home);

// Whether somebody answers there.
bool answers(const std::string& socket);

}  // namespace muster
