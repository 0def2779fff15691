// Reports of jobs that affect scheduling decisions.

#include <algorithm>
#include <cmath>

#include "engine/roster/roster.h"

namespace muster {

namespace {

constexpr double kMax = 1e12;  // Larger steps, epochs or losses are reporting errors.

bool is_sane(double value) { return value >= 0 && value <= kMax; }  // False for NaN.

}  // namespace

bool RosterView::wants_time_left() const {
  return world_->settings.engine.estimates == EstimateSource::Kind::kProgress;
}

EngineHistory RosterView::past_of(JobId row) const {
  const Job& job = engine_->state().jobs[row];
  const JobFacts facts = View(engine_->state(), now_).facts(row);
  const std::span<const FailedAttempt> failures = engine_->failures(row);
  EngineHistory past{facts.work_done,
                     facts.gpu_us,
                     facts.cpu_milli_ms(),
                     facts.mem_mib_ms(),
                     {failures.begin(), failures.end()}};
  if (job.predicted) past.estimate = job.estimate;
  return past;
}

// In the engine, a step is the work of one second on one GPU. Jobs count steps of any size. The
// first measured speed of a job is assumed to equal the expected speed of its profile with as many
// GPUs, which gives the size of its steps. Later speeds are measured in these units.
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
    events_.push_back(JobPredicted{row, epoch, left});
  }
  if (!input.speed || !wants_speeds() || !engine_->state().jobs.contains(row)) return;
  const ReportInput::Speed& reported = *input.speed;
  if (!is_sane(reported.steps) || !is_sane(reported.passes) || !is_sane(reported.loss)) return;
  const Job& known = engine_->state().jobs[row];
  if (known.lease == kNoRow || known.epoch != epoch) return;
  if (job.step_unit == 0 && reported.rate > 0 && is_sane(reported.rate)) {
    const std::int32_t gpus = total_of(job.lease->placement).gpus;
    job.step_unit = reported.rate / world_->cluster.profile(known.spec).steps_per_second(gpus);
  }
  if (!(job.step_unit > 0) || !std::isfinite(job.step_unit)) return;
  JobReported report;
  report.job = row;
  report.epoch = epoch;
  report.speed = engine_->lease(row).speed;  // Speed of work, as expected by the engine.
  report.steps = reported.steps / job.step_unit;
  report.passes = reported.passes;
  report.loss = reported.loss;
  events_.push_back(report);
}

}  // namespace muster
