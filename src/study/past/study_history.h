#pragma once

// A manager's past in the form that src/analyze asks its questions of.

#include "study/past/live_history.h"
#include "workload/history/history.h"

namespace muster {

// Every job, with its leases as attempts, trials that went well apart. Use of GPUs, causes of
// waiting and work lost are not known.
History as_history(const LiveHistory& live);

}  // namespace muster
