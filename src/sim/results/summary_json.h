#pragma once

// Machine-readable summaries: the output of `--json` and the content of summary.json.
//
// The same numbers always give the same bytes. Keys have a fixed order. Times (seconds) and GPU
// hours have up to six decimals and no trailing zeros; ratios have exactly six. Only `wall_s` may
// differ between two runs with the same settings.

#include <span>
#include <string>

#include "sim/results/summary.h"

namespace muster {

// One object, one key per line, ending in a newline.
std::string summary_json(const Summary& summary, const RunLabel& label);

// An array of such objects, for several runs.
std::string summaries_json(std::span<const RunRow> rows);

}  // namespace muster
