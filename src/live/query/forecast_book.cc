#include "live/query/forecast_book.h"

#include <utility>

namespace muster {

void ForecastBook::keep(LiveId id, const PendingForecast& pending) {
  const std::lock_guard lock(mutex_);
  if (pending_.size() < kMaxPending) pending_.try_emplace(id, pending);
}

bool ForecastBook::has(LiveId id) const {
  const std::lock_guard lock(mutex_);
  return pending_.contains(id);
}

void ForecastBook::evaluate(const Roster& roster) {
  const std::lock_guard lock(mutex_);
  std::erase_if(pending_, [&](const auto& entry) {
    const LiveJob* job = roster.find(entry.first);
    const PendingForecast& pending = entry.second;
    if (job == nullptr || job->row != pending.row || job->wants_trial()) return true;
    if (!job->started) return false;
    if (*job->started > pending.asked) {
      errors_.learn(pending.asked, pending.forecast.raw, pending.forecast.told, *job->started);
    }
    return true;
  });
}

ForecastErrors ForecastBook::errors() const {
  const std::lock_guard lock(mutex_);
  return errors_;
}

void ForecastBook::keep_bands(std::shared_ptr<const StartBands> bands) {
  const std::lock_guard lock(mutex_);
  bands_ = std::move(bands);
}

std::shared_ptr<const StartBands> ForecastBook::bands(Instant now, Duration age) {
  const std::lock_guard lock(mutex_);
  if (bands_ && now - bands_->made > age) bands_.reset();
  return bands_;
}

}  // namespace muster
