#pragma once

// Summaries for programs: what `--json` prints and what summary.json holds.
//
// The same numbers always give the same bytes: keys in a fixed order; times in seconds and GPU
// hours with up to six decimals and no trailing zeros; ratios with exactly six. `wall_s` is the
// only field that two runs of the same thing may differ in.

#include <span>
#include <string>

#include "sim/results/summary.h"

namespace muster {

// One object, one key a line, ending in a newline.
std::string summary_json(const Summary& summary, const RunLabel& label);

// A list of such objects, for several runs.
std::string summaries_json(std::span<const RunRow> rows);

}  // namespace muster
