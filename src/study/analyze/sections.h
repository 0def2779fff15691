#pragma once

// The questions of the study, one function each; study.cc calls them in this order. Each fills in a
// section that has its key and title, as far as the history tells.

#include "study/analyze/asked.h"
#include "study/page/page.h"

namespace muster {

void overview(const Asked& asked, Section& section);
void run_times(const Asked& asked, Section& section);
void queueing(const Asked& asked, Section& section);
void wait_causes(const Asked& asked, Section& section);
void out_of_order(const Asked& asked, Section& section);
void servers_and_waiting(const Asked& asked, Section& section);
void utilisation(const Asked& asked, Section& section);
void outcomes(const Asked& asked, Section& section);
void attempts_by_size(const Asked& asked, Section& section);
void failure_table(const Asked& asked, Section& section);
void failure_costs(const Asked& asked, Section& section);
void last_epochs(const Asked& asked, Section& section);
void who_waited_for_whom(const Asked& asked, Section& section);

}  // namespace muster
