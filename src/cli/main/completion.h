#pragma once

// Scripts that teach a shell to complete muster's verbs and options, made from the verbs and
// options there are; ids of jobs and names of servers are asked of the manager when needed.

#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct OptionWord {
  std::string name;  // With its dashes.
  std::string what;
};

struct VerbWords {
  std::string name;
  std::string what;
  std::vector<OptionWord> options;
  std::vector<VerbWords> verbs;  // "info" of "trace".
  bool takes_jobs = false;
  bool takes_nodes = false;
};

inline constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

// `root` is the program itself. The shell is one of kShells.
std::string completion_script(std::string_view shell, const VerbWords& root);

}  // namespace muster
