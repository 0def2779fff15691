#pragma once

// A manager's rows about jobs and leases, as the history they tell. Used by era.cc.

#include "base/types/result.h"
#include "live/store/journal_reader.h"
#include "study/past/live_history.h"

namespace muster {

// Into a history that has its settings. Says in the history's notes what a row does not tell, and
// what was left out.
Refusal read_rows(JournalReader& reader, const PastLimits& limits, LiveHistory& history);

}  // namespace muster
