#pragma once

// Generates shell scripts that complete the commands and options of muster. The scripts ask the
// manager for job ids and node names when needed.

#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct OptionWord {
  std::string name;  // With dashes.
  std::string what;
};

struct VerbWords {
  std::string name;
  std::string what;
  std::vector<OptionWord> options;
  std::vector<VerbWords> verbs;  // Subcommands, such as "info" for "trace".
  bool takes_jobs = false;
  bool takes_nodes = false;
};

inline constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

// Returns the completion script. `root` describes the whole program.
// REQUIRES: `shell` is one of kShells.
std::string completion_script(std::string_view shell, const VerbWords& root);

}  // namespace muster
