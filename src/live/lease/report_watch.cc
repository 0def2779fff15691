#include "live/lease/report_watch.h"

#include <algorithm>
#include <cmath>

namespace muster {

namespace {

constexpr std::int64_t kLooksBetween = 5;  // Polls between two reports of a job.

}  // namespace

Duration ran_by(const LiveJob& job, Instant now) {
  if (!job.lease || !job.lease->up || job.lease->trial) return job.ran;
  return job.ran + std::max(Duration(), now - job.lease->up_since);
}

void ReportWatch::look(const Roster& roster, Instant now, std::vector<Input>& inputs) {
  if (now < next_look_) return;
  next_look_ = now + every_;
  for (const LiveId id : roster.placed()) {
    const LiveJob* job = roster.find(id);
    if (job == nullptr || !job->lease || !job->lease->up) continue;
    const LiveLease& lease = *job->lease;
    const ProgressReader::News news = progress_.look(
        id, lease.number, lease.trial ? std::nullopt : std::optional(ran_by(*job, now)));
    if (news.saved) inputs.push_back(SavedInput{id, lease.number});
    if (!news.any || lease.trial) continue;
    if (const auto report = report_of(roster, *job, now, false)) inputs.push_back(*report);
  }
}

void ReportWatch::report_ends(const Roster& roster, Instant now, std::vector<Input>& inputs) {
  if (!roster.wants_time_left()) return;
  std::vector<Input> reports;
  for (const Input& input : inputs) {
    const auto* over = std::get_if<LeaseOverInput>(&input);
    if (over == nullptr || over->fate == LeaseResult::kFinished) continue;
    const LiveJob* job = roster.find(over->id);
    if (job == nullptr || !job->lease || job->lease->number != over->lease) continue;
    if (!job->lease->up || job->lease->trial) continue;
    progress_.look(over->id, over->lease, ran_by(*job, now));
    if (const auto report = report_of(roster, *job, now, true)) reports.push_back(*report);
  }
  inputs.insert(inputs.begin(), reports.begin(), reports.end());
}

void ReportWatch::read_rest(const Roster& roster, const LeaseRecord& record) {
  const LiveJob* job = roster.find(record.id);
  const bool counts = job != nullptr && !record.lease.trial;
  progress_.look(record.id, record.lease.number, counts ? std::optional(job->ran) : std::nullopt);
}

void ReportWatch::forget(LiveId id) {
  progress_.forget(id);
  reported_.erase(id);
}

std::optional<ReportInput> ReportWatch::report_of(const Roster& roster, const LiveJob& job,
                                                  Instant now, bool at_once) {
  const JobSeries* series = progress_.series(job.id);
  const bool wanted = roster.wants_time_left() || roster.wants_speeds();
  if (series == nullptr || !wanted) return std::nullopt;
  LastReport& last = reported_[job.id];
  if (now < last.next && !at_once) return std::nullopt;
  last.next = now + every_ * kLooksBetween;
  ReportInput report{job.id, job.lease->number, -1, {}};
  if (roster.wants_time_left()) {
    const Result<Remaining> left = series->predict(ran_by(job, now));
    if (left.ok() && is_news(job, left.value(), now)) {
      report.left_ms = std::max<std::int64_t>(1, std::llround(left.value().seconds * 1000));
    }
  }
  if (roster.wants_speeds() && now >= last.next_speed) {
    last.next_speed = now + Duration::micros(roster.settings().engine.round.us() / 4);
    const auto latest = series->latest(job.lease->number);
    if (latest) report.speed = {latest->steps, latest->rate, latest->epochs, latest->loss};
  }
  if (report.left_ms < 0 && !report.speed) return std::nullopt;
  return report;
}

bool ReportWatch::is_news(const LiveJob& job, const Remaining& left, Instant now) {
  LastReport& last = reported_[job.id];
  const Duration ran = ran_by(job, now);
  if (last.left >= 0) {
    const Duration since = ran - last.ran;
    const double expected = std::max(0.0, last.left - since.in_seconds());
    if (!is_notable(left, expected, since)) return false;
  }
  last.left = left.seconds;
  last.ran = ran;
  return true;
}

}  // namespace muster
