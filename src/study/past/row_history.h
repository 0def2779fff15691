#pragma once

// Reads a manager's rows of jobs and leases into a LiveHistory. era.cc calls it.

#include "base/types/result.h"
#include "live/store/journal_reader.h"
#include "study/past/live_history.h"

namespace muster {

// Adds to a history that already has its settings. The history's notes list missing data and
// omitted rows.
MaybeError read_rows(JournalReader& reader, const PastLimits& limits, LiveHistory& history);

}  // namespace muster
