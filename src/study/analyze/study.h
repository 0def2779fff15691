#pragma once

// The study that Microsoft made of its cluster Philly (Jeon et al., ATC 2019), of any cluster's
// past: how long jobs waited and for whom, how long they ran, how busy GPUs were, what failed and
// what that cost. `muster analyze` calls it once and hands the page to a writer.

#include "engine/failure/prerun.h"
#include "engine/failure/retry.h"
#include "engine/model/profile.h"
#include "engine/model/tenants.h"
#include "study/page/page.h"
#include "workload/history/history.h"
#include "workload/history/use_study.h"

namespace muster {

struct StudyOptions {
  const ProfileTable* profiles = nullptr;  // How losses of models fall; null: not known.
  // Quotas of tenants, by the names the history has. Null, or tenants that share by weight: quotas
  // are inferred from what each tenant held.
  const TenantTree* tenants = nullptr;
  PreRunOptions pre_run;                        // What failures are replayed with: as if every
  RetryPolicy retry = RetryPolicy::adaptive();  // job had been pre-run, and retried so.
};

// Thirteen sections, always the same, each with a key that stays. What the history does not tell is
// said in Section::missing beside what can be answered all the same. `use` may be null. Pure: equal
// inputs give equal pages. For n jobs and attempts n log n time.
Page study(const History& history, const UseStudy* use, const StudyOptions& options);

}  // namespace muster
