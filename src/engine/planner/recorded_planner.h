#pragma once

// The planner of an engine that only repeats recorded decisions (Engine::repeat()). It never plans
// and keeps no queue, so it works for the decisions of any planner. It reports no wait causes.

#include <optional>
#include <string>
#include <utility>

#include "base/types/check.h"
#include "engine/core/planner.h"

namespace muster {

class RecordedPlanner final : public Planner {
 public:
  // `reports`: the value of the planner that it replaces.
  explicit RecordedPlanner(Reports reports) : reports_(reports) {}

  std::optional<std::string> refuse(const JobSpec& /*spec*/) override { return std::nullopt; }
  void enqueue(const View& /*view*/, JobId /*job*/) override {}
  bool resume(const View& /*view*/, Draft& draft, JobId job, Placement placement) override {
    return draft.start(job, std::move(placement));
  }
  void forget(const View& /*view*/, JobId /*job*/, JobExit /*job_exit*/) override {}
  void plan(const View& /*view*/, Draft& /*draft*/, PlanTrigger /*trigger*/) override {
    MUSTER_CHECK(false);  // Only Engine::repeat() may be called.
  }
  bool drifts() const override { return false; }
  Reports wants_reports() const override { return reports_; }

 private:
  Reports reports_;
};

}  // namespace muster
