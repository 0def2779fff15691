#include "live/query/forecast_book.h"

namespace muster {

ForecastBounds ForecastBook::correct(LiveId id, JobId row, Instant asked,
                                     const StartSamples& samples) {
  const std::lock_guard lock(mutex_);
  if (record_.has(id)) {
    record_.refresh(id, asked, samples);
    return record_.corrected(asked, samples);
  }
  if (pending_.size() >= kMaxPending) return record_.corrected(asked, samples);
  const ForecastBounds told = record_.add(id, asked, samples);
  pending_[id] = {row, asked, told};
  return told;
}

ForecastBounds ForecastBook::correct(Instant asked, const StartSamples& samples) {
  const std::lock_guard lock(mutex_);
  return record_.corrected(asked, samples);
}

void ForecastBook::evaluate(const Roster& roster) {
  const std::lock_guard lock(mutex_);
  const std::string& policy = roster.settings().planner.parts.policy;
  if (policy != std::exchange(policy_, policy)) {
    record_ = {};
    pending_.clear();
  }
  std::erase_if(pending_, [&](const auto& entry) {
    const auto& [id, pending] = entry;
    const LiveJob* job = roster.find(id);
    if (job == nullptr || job->row != pending.row || job->wants_trial()) {
      record_.drop(id);
      return true;
    }
    if (!job->started) return false;
    const Instant start = *job->started;
    if (start <= pending.asked) {
      record_.drop(id);
      return true;
    }
    record_.resolve(id, start);
    ++score_.checked;
    for (std::size_t i = 0; i < score_.inside.size(); ++i) {
      if (pending.told[2 - i] <= start && start <= pending.told[4 + i]) ++score_.inside[i];
    }
    if (start < pending.told[1]) ++score_.before;
    if (start > pending.told[5]) ++score_.after;
    return true;
  });
}

std::map<LiveId, JobId> ForecastBook::pending() const {
  const std::lock_guard lock(mutex_);
  std::map<LiveId, JobId> jobs;
  for (const auto& [id, pending] : pending_) jobs[id] = pending.row;
  return jobs;
}

ForecastScore ForecastBook::score() const {
  const std::lock_guard lock(mutex_);
  return score_;
}

void ForecastBook::publish(Instant made, const Bands& bands) {
  const std::lock_guard lock(mutex_);
  std::erase_if(bands_, [&](const auto& entry) { return made - entry.second.made > kHold; });
  for (const auto& [id, band] : bands) bands_[id] = {band.first, made, band.second};
}

std::optional<Band> ForecastBook::find(LiveId id, JobId row, Instant now) const {
  const std::lock_guard lock(mutex_);
  const auto found = bands_.find(id);
  if (found == bands_.end() || found->second.row != row) return std::nullopt;
  if (now - found->second.made > kHold) return std::nullopt;
  return found->second.band;
}

}  // namespace muster
