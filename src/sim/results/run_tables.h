#pragma once

// Formats simulated runs as text: a comparison of runs, tables of failures and waiting, a summary.

#include <span>
#include <string>

#include "base/terminal/terminal.h"
#include "sim/results/summary.h"

namespace muster {

// One line per run. Settings that differ between runs (placement, estimates, trace, ...) get a
// column. The last column is the gain in mean JCT over the first run with the same policy, trace,
// cluster and seed; 2.00x means half the JCT. If no policy has two runs, the policy is ignored. The
// first run itself shows a dash.
std::string comparison_table(std::span<const RunRow> rows, ColorMode colors = ColorMode::kPlain);
// Returns true if no policy has two runs, so that the gains compare different policies.
bool compares_policies(std::span<const RunRow> rows);

// Failed attempts by reason, and their cost.
std::string failure_table(const FailureLedger& ledger, ColorMode colors = ColorMode::kPlain);

// Causes of waiting, by job size.
std::string waiting_table(const WaitingSummary& waiting, ColorMode colors = ColorMode::kPlain);

// One run, one fact per line.
std::string summary_text(const Summary& summary, const RunLabel& label);

}  // namespace muster
