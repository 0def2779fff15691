#pragma once

// Reads the shell and the #SBATCH options of a batch script like Slurm, with a table of all options
// of sbatch. sbatch.cc, the only caller, translates them.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

struct SlurmOption {
  enum class Takes : std::uint8_t { kNothing, kValue, kMaybe };  // kMaybe: only as --name=value.
  std::string_view name;
  char letter = 0;  // 0: none.
  Takes takes = Takes::kValue;
  std::string_view why_not;  // Why Muster ignores the option; empty: Muster uses it.
};

struct GivenOption {
  const SlurmOption* option;
  int line;
  std::string value;  // Empty if there is none.
};

struct SbatchLines {
  std::vector<std::string> shell;  // Program and arguments of the "#!" line.
  std::vector<GivenOption> options;
  std::vector<int> too_late;  // Ignored #SBATCH lines after the first command.
};

// `name` is used as the path in messages: "NAME:LINE: why".
Result<SbatchLines> read_sbatch_lines(std::string_view text, const std::string& name);

}  // namespace muster
