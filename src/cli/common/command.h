#pragma once

// Functions that all subcommands share: error output, profile files, Ctrl-C. main() passes the
// output streams in, so tests can capture the output. Exit statuses: see exit_code.h.

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "base/types/result.h"
#include "cli/common/exit_code.h"
#include "engine/model/profile.h"

namespace muster {

struct Streams {
  std::ostream& out;
  std::ostream& err;
};

// Runs the whole program. Parses `words`, the arguments after the program name, runs the chosen
// subcommand and returns its exit status.
int run_muster(std::span<const std::string> words, Streams streams);

// Returns "muster" and `words` as one line for a shell. Quotes words that need it.
std::string command_line(std::span<const std::string> words);

// Prints "muster: PLACE: MESSAGE" on one line to streams.err, without the place if the error has
// none. Control characters are escaped. Returns exit_code() of the error's code.
int complain(Streams streams, const Error& error);
// Prints an error about a wrong option or argument in the same way.
int complain(Streams streams, std::string_view message);

// Reads the profile file of --profiles and prints its notes. An empty `path` returns the built-in
// profiles.
Result<ProfileTable> load_profiles(const std::string& path, std::ostream& notes);

// Returns an error message if `text` is not a valid --seed, otherwise an empty text. CLI11 itself
// would accept a negative number and wrap it around.
std::string refuse_seed(const std::string& text);

// Starts a thread that handles Ctrl-C (SIGINT). The first one makes interrupted() true, and a long
// run then ends with partial results. The second one ends the process with status 130.
void catch_interrupts();
bool interrupted();

}  // namespace muster
