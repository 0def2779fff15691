// What running jobs say of themselves: where they are, that they have saved, how long they will
// still take. What the roster decides by goes to it as an input, and so into the journal, only when
// it is news.

#include <algorithm>
#include <cmath>

#include "live/manager.h"

namespace muster {

namespace {

constexpr std::int64_t kLooksBetween = 5;  // Forecasts of one job.

}  // namespace

Duration Manager::ran_by_now(const LiveJob& job) const {
  if (!job.lease || !job.lease->up || job.lease->trial) return job.ran;
  return job.ran + std::max(Duration(), clock_->now() - job.lease->up_since);
}

void Manager::look_at_progress(std::vector<Input>& inputs) {
  for (const LiveId id : roster_->placed()) {
    const LiveJob* job = roster_->find(id);
    if (job == nullptr || !job->lease || !job->lease->up) continue;
    const LiveLease& lease = *job->lease;
    const ProgressReader::News news = progress_->look(
        id, lease.number, lease.trial ? std::nullopt : std::optional(ran_by_now(*job)));
    if (news.saved) inputs.push_back(SavedInput{id, lease.number});
    if (!news.any || lease.trial) continue;
    if (const auto report = report_of(*job, false)) inputs.push_back(*report);
  }
}

// A job that is stopped waits with the best that is known of it.
void Manager::report_ends(std::vector<Input>& inputs) {
  if (!roster_->wants_time_left()) return;
  std::vector<Input> reports;
  for (const Input& input : inputs) {
    const auto* over = std::get_if<LeaseOverInput>(&input);
    if (over == nullptr || over->fate == LeaseFate::kFinished) continue;
    const LiveJob* job = roster_->find(over->id);
    if (job == nullptr || !job->lease || job->lease->number != over->lease) continue;
    if (!job->lease->up || job->lease->trial) continue;
    progress_->look(over->id, over->lease, ran_by_now(*job));
    if (const auto report = report_of(*job, true)) reports.push_back(*report);
  }
  inputs.insert(inputs.begin(), reports.begin(), reports.end());
}

std::optional<ReportInput> Manager::report_of(const LiveJob& job, bool at_once) {
  const JobSeries* series = progress_->series(job.id);
  const bool wanted = roster_->wants_time_left() || roster_->wants_speeds();
  if (series == nullptr || !wanted) return std::nullopt;
  const Instant now = clock_->now();
  Foretold& told = foretold_[job.id];
  if (now < told.next && !at_once) return std::nullopt;
  told.next = now + settings_.progress_every * kLooksBetween;
  ReportInput report{job.id, job.lease->number, -1, {}};
  if (roster_->wants_time_left()) {
    const Result<Remaining> left = series->predict(ran_by_now(job));
    if (left.ok() && is_news(job, left.value())) {
      report.left_ms = std::max<std::int64_t>(1, std::llround(left.value().seconds * 1000));
    }
  }
  if (roster_->wants_speeds() && now >= told.next_speed) {
    told.next_speed = now + Duration::micros(roster_->settings().engine.round.us() / 4);
    const auto latest = series->latest(job.lease->number);
    if (latest) report.speed = {latest->steps, latest->rate, latest->epochs, latest->loss};
  }
  if (report.left_ms < 0 && !report.speed) return std::nullopt;
  return report;
}

bool Manager::is_news(const LiveJob& job, const Remaining& left) {
  Foretold& told = foretold_[job.id];
  const Duration ran = ran_by_now(job);
  if (told.left >= 0) {
    const Duration since = ran - told.ran;
    const double expected = std::max(0.0, told.left - since.in_seconds());
    if (!is_notable(left, expected, since)) return false;
  }
  told.left = left.seconds;
  told.ran = ran;
  return true;
}

}  // namespace muster
