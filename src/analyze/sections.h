#pragma once

// The questions of the study, one function each; study.cc calls them in this order. None of them
// changes anything, and each answers as far as the history tells.

#include "analyze/asked.h"
#include "page/page.h"

namespace muster {

Section overview(const Asked& asked);
Section run_times(const Asked& asked);
Section queueing(const Asked& asked);
Section wait_causes(const Asked& asked);
Section out_of_order(const Asked& asked);
Section servers_and_waiting(const Asked& asked);
Section utilisation(const Asked& asked);
Section outcomes(const Asked& asked);
Section attempts_by_size(const Asked& asked);
Section failure_table(const Asked& asked);
Section failure_costs(const Asked& asked);
Section last_epochs(const Asked& asked);
Section who_waited_for_whom(const Asked& asked);

}  // namespace muster
