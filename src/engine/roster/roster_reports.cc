// What jobs say of themselves, as far as anybody decides by it.

#include <algorithm>
#include <cmath>

#include "engine/roster/roster.h"

namespace muster {

namespace {

constexpr double kMost = 1e12;  // Steps, passes and losses beyond this are a mistake.

bool is_sane(double value) { return value >= 0 && value <= kMost; }  // Not if it is no number.

}  // namespace

bool RosterView::wants_time_left() const {
  return world_->settings.engine.estimates == EstimateSource::Kind::kProgress;
}

Past RosterView::past_of(JobId row) const {
  const Job& job = engine_->state().jobs[row];
  const JobFacts facts = View(engine_->state(), now_).facts(row);
  const std::span<const FailedAttempt> failures = engine_->failures(row);
  Past past{facts.work_done,
            facts.gpu_us,
            facts.cpu_milli_ms,
            facts.mem_mib_ms,
            {failures.begin(), failures.end()}};
  if (job.foreseen) past.estimate = job.estimate;
  return past;
}

// To the engine a step is what such a job makes in a second on one GPU; jobs count in steps of
// their own, of any size. The first speed that is measured of a job is taken to be the one believed
// of its sort with as many GPUs, which says how large its steps are; from then on it is measured.
void Roster::apply(const ReportInput& input) {
  const auto found = jobs_.find(input.id);
  if (found == jobs_.end()) return;
  LiveJob& job = found->second;
  if (!job.lease || job.lease->number != input.lease || job.lease->trial || !job.row) return;
  const JobId row = *job.row;
  const Epoch epoch = input.lease - job.lease_base;
  if (input.left_ms > 0 && wants_time_left()) {
    const std::int64_t most = kLongestDuration.us() / 1000;
    const Duration left = Duration::micros(std::min(input.left_ms, most) * 1000);
    events_.push_back(JobForeseen{row, epoch, left});
  }
  if (!input.speed || !wants_speeds() || !engine_->state().jobs.contains(row)) return;
  const ReportInput::Speed& said = *input.speed;
  if (!is_sane(said.steps) || !is_sane(said.passes) || !is_sane(said.loss)) return;
  const Job& known = engine_->state().jobs[row];
  if (known.lease == kNoRow || known.epoch != epoch) return;
  if (job.step_unit == 0 && said.rate > 0 && is_sane(said.rate)) {
    const std::int32_t gpus = total_of(job.lease->placement).gpus;
    job.step_unit = said.rate / world_->cluster.profile(known.spec).steps_per_second(gpus);
  }
  if (!(job.step_unit > 0) || !std::isfinite(job.step_unit)) return;
  JobReported report;
  report.job = row;
  report.epoch = epoch;
  report.speed = engine_->lease(row).speed;  // Of work, which is counted as believed.
  report.steps = said.steps / job.step_unit;
  report.passes = said.passes;
  report.loss = said.loss;
  events_.push_back(report);
}

}  // namespace muster
