#pragma once

// Experiments as data: the commands to run, the claims of a paper, and the plots. A file is a YAML
// list of experiments; docs/reference/formats.md lists the keys. `muster reproduce` runs them.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types/result.h"

namespace muster {

struct Claim {
  std::string text;    // "FIFO: makespan, tune against proportional".
  std::string source;  // Where it was published, with a tag such as [recalled].
  std::string unit;    // "x", "h", "%"; may be empty.
  int decimals = 2;
  std::optional<double> published;  // nullopt: the source has no figure, only a direction.
  std::string value;                // Our figure, as an expression; see expression.h.
  // The claim is reproduced if our figure deviates by at most `within` times the published one, and
  // lies within the limits that are set.
  std::optional<double> within;
  std::optional<double> within_points;  // As `within`, but an absolute deviation.
  std::optional<double> at_least, at_most;
  // Otherwise its direction is reproduced if our figure is above or below this one.
  std::optional<double> above, below;
  std::string why;  // Known reason for a miss; empty: none.
};

struct ExperimentPlot {
  std::string key, title, x_label, y_label;
  bool bars = false;
  std::vector<std::string> categories;  // Only for bars: one per expression of each series.
  // Name and expressions. For lines, one expression with {x}, computed for each value of `over`.
  std::vector<std::pair<std::string, std::vector<std::string>>> series;
};

struct Experiment {
  std::string name;                // "tiresias-load".
  std::string paper;               // "tiresias".
  std::string title;               // "Tiresias: load sweep".
  std::vector<std::string> about;  // Sentences: the setting and the assumptions.
  std::vector<std::string> needs;  // Files that the data directory must contain.
  bool quick = false;              // Part of the short form.
  // Small input files: name and lines. They are written to {dir} first.
  std::vector<std::pair<std::string, std::vector<std::string>>> files;
  // Commands without "muster". {dir} is the working directory of the experiment, {data} the data
  // directory, {x} a value of `over`.
  std::vector<std::string> prepare;                       // Run first, one after another.
  std::vector<std::pair<std::string, std::string>> runs;  // Name and command.
  std::vector<std::string> over;                          // Values of {x}; empty: no sweep.
  std::vector<Claim> claims;
  std::vector<ExperimentPlot> plots;
};

// Parses a list of experiments. `file` is used as the path in messages. Rejects unknown keys,
// duplicate names, runs and plots, invalid expressions, and claims without a criterion.
Result<std::vector<Experiment>> parse_experiments(std::string_view text, const std::string& file);

// Returns the experiments of this repository's directory experiments/, in the order of the names.
const std::vector<Experiment>& builtin_experiments();

// Returns the command with {name} replaced by the value, everywhere.
std::string substituted(std::string text, std::string_view name, std::string_view value);

// Returns a value of {x} as part of the name of a run, without dots: "0_5".
std::string run_suffix(std::string x);

// Returns the names and commands to run for a command of the experiment: itself, or one per value
// of `over` if it contains {x}. The name of the latter is "fifo@0_5".
std::vector<std::pair<std::string, std::string>> expanded(const Experiment& experiment,
                                                          const std::string& name,
                                                          const std::string& command);

}  // namespace muster
