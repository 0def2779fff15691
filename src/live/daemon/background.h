#pragma once

// Starts and stops a manager in the background, which outlives the caller. Used by
// `muster serve --background` and `--stop`.

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// Starts this program with the arguments `words` and with its output in `log`. Waits until a
// manager answers at `socket`. If it exits before, the error is its last line of output.
MaybeError start_in_background(const std::vector<std::string>& words, const std::string& log,
                               const std::string& socket);

// Stops the manager of `home` and waits until it has exited. Its jobs keep running.
MaybeError end_manager(const std::string& home);

// Returns true if a manager answers at `socket` within a second. A frozen or dying process does
// not answer.
bool answers(const std::string& socket);

enum class DaemonState : std::uint8_t {
  kFree,    // No process holds the lock of the journal.
  kServes,  // A process holds the lock and answers.
  kSilent,  // A process holds the lock and did not answer in time.
};
// Returns the state of the manager of `home`. Waits while one is starting or dying.
DaemonState daemon_state(const std::string& home, const std::string& socket,
                         Duration patience = Duration::seconds(30));

}  // namespace muster
