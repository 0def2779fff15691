#pragma once

// Simulated runs as text: a table that compares runs, tables of failures and waiting, a summary.

#include <span>
#include <string>

#include "base/terminal/terminal.h"
#include "sim/results/summary.h"

namespace muster {

// One line a run. What the runs do not all share (placement, estimates, trace...) gets a column.
// The last column is the gain in mean JCT over the first run of the same policy, or of any if none
// has two runs, on the same trace, cluster and seed: 2.00x means that jobs took half as long; that
// first run itself shows a dash.
std::string comparison_table(std::span<const RunRow> rows, Ink ink = Ink::kPlain);
// Whether there are no two runs of one policy, so that its gains are over other policies.
bool compares_policies(std::span<const RunRow> rows);

// What failed, why, and what it cost.
std::string failure_table(const FailureLedger& ledger, Ink ink = Ink::kPlain);

// Why jobs of each size waited.
std::string waiting_table(const WaitingSummary& waiting, Ink ink = Ink::kPlain);

// One run, a line a fact.
std::string summary_text(const Summary& summary, const RunLabel& label);

}  // namespace muster
