#pragma once

// The questions of the study, one function per section. study.cc calls them in this order. Each
// gets a section with key and title, and fills it in as far as the history has the data.

#include "study/analyze/study_input.h"
#include "study/page/page.h"

namespace muster {

void overview(const StudyInput& asked, Section& section);
void run_times(const StudyInput& asked, Section& section);
void queueing(const StudyInput& asked, Section& section);
void wait_causes(const StudyInput& asked, Section& section);
void out_of_order(const StudyInput& asked, Section& section);
void nodes_and_waiting(const StudyInput& asked, Section& section);
void utilization(const StudyInput& asked, Section& section);
void outcomes(const StudyInput& asked, Section& section);
void attempts_by_size(const StudyInput& asked, Section& section);
void failure_table(const StudyInput& asked, Section& section);
void failure_costs(const StudyInput& asked, Section& section);
void last_epochs(const StudyInput& asked, Section& section);
void wait_attribution(const StudyInput& asked, Section& section);

}  // namespace muster
