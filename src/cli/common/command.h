#pragma once

// What every subcommand has in common. Streams come in from main(), so that a test can be the
// terminal. Exit statuses: see exit_code.h.

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

// The whole program: parses the words after the program's name and runs the subcommand.
int run_muster(std::span<const std::string> words, Streams streams);

// The words as one line for a shell, after "muster".
std::string command_line(std::span<const std::string> words);

// Prints "muster: PLACE: MESSAGE" on one line, without the place if the error has none. Returns
// exit_code() of its code.
int complain(Streams streams, const Error& error);
// The same for a wrong option or argument.
int complain(Streams streams, std::string_view message);

// --profiles FILE, or the zoo when empty.
Result<ProfileTable> load_profiles(const std::string& path, std::ostream& notes);

// What is wrong with the text of a --seed, or nothing; the library would wrap it around.
std::string refuse_seed(const std::string& text);

// Set by Ctrl-C. The first asks a long run to end with what it has; a second one kills.
void catch_interrupts();
bool interrupted();

}  // namespace muster
