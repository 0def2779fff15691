#pragma once

// Repeats Microsoft's study of its cluster Philly (Jeon et al., ATC 2019) for the history of any
// cluster: waiting times and their causes, run times, GPU utilization, failures and their cost.
// `muster analyze` calls it once and passes the page to a writer.

#include "engine/failure/prerun.h"
#include "engine/failure/retry.h"
#include "engine/model/profile.h"
#include "engine/model/tenants.h"
#include "study/page/page.h"
#include "workload/history/history.h"
#include "workload/history/use_study.h"

namespace muster {

struct StudyOptions {
  const ProfileTable* profiles = nullptr;  // Loss curves of models; null: unknown.
  // Quotas of tenants, by their names in the history. Null, or tenants that share by weight: quotas
  // are estimated from the GPUs that each tenant held.
  const TenantTree* tenants = nullptr;
  PreRunOptions pre_run;                        // The settings with which failures are replayed:
  RetryPolicy retry = RetryPolicy::adaptive();  // every job is pre-run and retried like this.
};

// Returns always the same thirteen sections with fixed keys. Section::missing describes data that
// the history lacks. `use` may be null. Deterministic, without side effects. O(n log n) for n jobs
// and attempts.
Page study(const History& history, const UseStudy* use, const StudyOptions& options);

}  // namespace muster
