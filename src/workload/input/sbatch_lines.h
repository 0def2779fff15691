#pragma once

// The outside of a batch script as Slurm reads it: the shell it is for and the options on its
// #SBATCH lines, told apart by a table of all options sbatch has. What they mean for Muster is
// sbatch.cc's business, the only caller.

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
  std::string_view why_not;  // Why Muster passes it over; empty: it does not.
};

struct GivenOption {
  const SlurmOption* option;
  int line;
  std::string value;  // Empty if it takes none, or may and was given none.
};

struct SbatchLines {
  std::vector<std::string> shell;  // "/bin/bash", and what follows it on the script's first line.
  std::vector<GivenOption> options;
  std::vector<int> too_late;  // Lines with #SBATCH behind the first command, which are not read.
};

// `name` stands for the script in messages, "NAME:LINE: why".
Result<SbatchLines> read_sbatch_lines(std::string_view text, const std::string& name);

}  // namespace muster
