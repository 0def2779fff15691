// Computes the queue order and the predicted starts of all waiting jobs, for lists. The worker
// makes the predictions when it has no question to answer.

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "live/query/forecast_queries.h"
#include "live/views/view_units.h"

namespace muster {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr Duration kBandsEvery = Duration::seconds(10);
constexpr Duration kRecordEvery = Duration::seconds(60);
constexpr Duration kListsExpected = Duration::seconds(30);  // After the last list with bands.
constexpr std::size_t kMaxPredicted = 2'000;
constexpr std::size_t kMaxInOrder = 100'000;
constexpr Duration kOrderHolds = Duration::seconds(1);  // Ranks can change with time.
constexpr std::chrono::milliseconds kBudget(500);
constexpr int kMinRuns = 5;  // Runs of the lookahead simulation within the budget.

json time_or_none(const LiveClock& clock, Instant at) {
  if (at == Instant::never()) return nullptr;
  return unix_s(clock, std::max(at, clock.now()));
}

}  // namespace

json start_band_json(const Band& band, const LiveClock& clock) {
  return {{"soonest", time_or_none(clock, band.soonest)},
          {"likely", time_or_none(clock, band.likely)},
          {"latest", time_or_none(clock, band.latest)}};
}

ForecastQueries::Version ForecastQueries::version_now() const {
  const Roster& roster = *context_.roster;
  return {context_.roster.era(), roster.now(), roster.engine().counters().events};
}

const QueueOrder& ForecastQueries::queue_order() {
  const Engine& engine = context_.roster->engine();
  const Instant now = context_.clock.now();
  const bool fresh =
      order_made_ <= now && now - order_made_ < kOrderHolds && order_version_ == version_now();
  if (fresh) return order_;
  order_ = {};
  order_made_ = now;
  order_version_ = version_now();
  order_.place.assign(context_.roster->rows(), 0);
  const auto line = engine.queue_order(now, kMaxInOrder);
  if (!line) return order_;
  const State& state = engine.state();
  std::uint32_t place = 0;
  // Jobs with promised GPUs, on which other leases are still stopping, come first.
  for (const JobId job : state.placed) {
    if (state.promised(job) != nullptr) order_.place[job.index()] = ++place;
  }
  for (const JobId job : *line) {
    if (state.jobs[job].ending != kNoRow) continue;  // It is stopping and still holds GPUs.
    order_.jobs.push_back(job);
    order_.place[job.index()] = ++place;
  }
  return order_;
}

// Returns the first jobs of the queue, then jobs in back-off. Without a queue order: the oldest.
std::vector<JobId> ForecastQueries::next_to_start() {
  std::vector<JobId> first = queue_order().jobs;
  const bool in_line = !first.empty();
  if (first.size() > kMaxPredicted) first.resize(kMaxPredicted);
  const auto& rows = context_.roster->engine().state().jobs;
  for (const auto& [id, job] : context_.roster->jobs()) {
    if (first.size() >= kMaxPredicted) break;
    if (job.end || job.lease || job.held || !job.row || !rows.contains(*job.row)) continue;
    const JobState state = rows[*job.row].state;
    if (state == JobState::kBackOff || (state == JobState::kWaiting && !in_line)) {
      first.push_back(*job.row);
    }
  }
  return first;
}

void ForecastQueries::renew_bands() {
  const Roster& roster = *context_.roster;
  const Instant now = context_.clock.now();
  if (now < next_bands_ || roster.engine().state().waiting == 0 || !worker_.is_idle()) return;
  const bool listed = lists_expected_ != Instant() && now - lists_expected_ <= kListsExpected &&
                      (roster.now() != bands_step_ || now - next_bands_ >= kBandsEvery * 4);
  if (!listed && now < last_bands_ + kRecordEvery) return;
  std::vector<JobId> jobs = next_to_start();
  if (jobs.empty()) return;
  next_bands_ = now + kBandsEvery;
  last_bands_ = now;
  bands_step_ = roster.now();
  worker_.ask(
      [this, snapshot = snapshot_with(), jobs = std::move(jobs)] { predict(*snapshot, jobs); });
}

// Runs on the worker.
void ForecastQueries::predict(const EngineSnapshot& snapshot, const std::vector<JobId>& jobs) {
  const Clock::time_point begun = Clock::now();
  ForecastOptions options;
  options.nodes = snapshot.nodes;
  options.tired = [&](int run) { return Clock::now() - begun > kBudget * (run + 1) / kMinRuns; };
  options.enough = [&](int runs) { return runs >= kMinRuns && Clock::now() - begun > kBudget; };
  ForecastBook::Bands bands;
  for (const auto& [row, samples] :
       sample_starts(snapshot.engine, snapshot.now, jobs, snapshot.guesses, options)) {
    const LiveId id = snapshot.live_of[row.index()];
    const ForecastBounds told = book_.correct(id, row, snapshot.now, samples);
    bands[id] = {row, told_band(snapshot, row, told)};
  }
  book_.publish(snapshot.now, bands);
}

std::optional<Band> ForecastQueries::band(const LiveJob& job) const {
  if (job.lease || !job.row) return std::nullopt;
  return book_.find(job.id, *job.row, context_.clock.now());
}

}  // namespace muster
