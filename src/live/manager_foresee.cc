// When jobs that wait will start, of all at once, for whoever watches the queue. By drives on the
// forecaster's thread, when nobody has a question for it.

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "live/manager.h"
#include "live/view_units.h"

namespace muster {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr Duration kBandsEvery = Duration::seconds(10);
constexpr Duration kBandsHold = Duration::seconds(60);
constexpr Duration kWatched = Duration::seconds(30);  // After the last look somebody still does.
constexpr std::size_t kMostForetold = 2'000;
constexpr std::size_t kMostInLine = 100'000;
constexpr Duration kLineHolds = Duration::seconds(1);
constexpr std::chrono::milliseconds kBudget(500);
constexpr int kLeastDrives = 5;  // That the budget is meant for.

json time_or_none(const LiveClock& clock, Instant at) {
  if (at == Instant::never()) return nullptr;
  return unix_s(clock, std::max(at, clock.now()));
}

}  // namespace

// After a step, or where ranks move with time, it may be another.
const Manager::Line& Manager::line_now() {
  const Engine& engine = roster_->engine();
  const Instant now = clock_->now();
  const bool fresh = line_.made <= now && now - line_.made < kLineHolds &&
                     line_.step == roster_->now() && line_.events == engine.counters().events;
  if (fresh) return line_;
  line_ = {};
  line_.made = now;
  line_.step = roster_->now();
  line_.events = engine.counters().events;
  line_.place.assign(roster_->rows(), 0);
  const auto line = engine.line(now, kMostInLine);
  if (!line) return line_;
  const State& state = engine.state();
  std::uint32_t place = 0;
  // Before all others whoever has been promised GPUs that are still being given up.
  for (const JobId job : state.placed) {
    if (state.promised(job) != nullptr) line_.place[job.index()] = ++place;
  }
  for (const JobId job : *line) {
    if (state.jobs[job].ending != kNoRow) continue;  // It still holds some, and is being stopped.
    line_.jobs.push_back(job);
    line_.place[job.index()] = ++place;
  }
  return line_;
}

// The first in line; and those that will be in it when their time has come. Where there is no line,
// the oldest.
std::vector<JobId> Manager::next_to_start() {
  std::vector<JobId> first = line_now().jobs;
  const bool in_line = !first.empty();
  if (first.size() > kMostForetold) first.resize(kMostForetold);
  const auto& rows = roster_->engine().state().jobs;
  for (const auto& [id, job] : roster_->jobs()) {
    if (first.size() >= kMostForetold) break;
    if (job.end || job.lease || job.held || !job.row || !rows.contains(*job.row)) continue;
    const JobState state = rows[*job.row].state;
    if (state == JobState::kParked || (state == JobState::kWaiting && !in_line)) {
      first.push_back(*job.row);
    }
  }
  return first;
}

void Manager::foresee_starts() {
  const Instant now = clock_->now();
  if (lists_watched_ == Instant() || now - lists_watched_ > kWatched || now < next_bands_) return;
  if (roster_->now() == banded_step_ && now - next_bands_ < kBandsHold - kBandsEvery * 2) return;
  if (roster_->engine().state().waiting == 0 || !forecaster_.is_idle()) return;
  const std::vector<JobId> jobs = next_to_start();
  if (jobs.empty()) return;
  next_bands_ = now + kBandsEvery;
  banded_step_ = roster_->now();
  auto picture = picture_with();
  forecaster_.ask([this, picture, jobs, errors = errors_] {
    const Clock::time_point begun = Clock::now();
    EtasOptions options;
    options.tired = [&](int drive) {
      return Clock::now() - begun > kBudget * (drive + 1) / kLeastDrives;
    };
    options.enough = [&](int drives) {
      return drives >= kLeastDrives && Clock::now() - begun > kBudget;
    };
    auto bands = std::make_shared<Bands>();
    bands->made = picture->now;
    const auto raw = raw_etas(picture->engine, picture->now, jobs, picture->guesses, options);
    for (const auto& [row, band] : raw) {
      bands->of[picture->live_of[row.index()]] = {row, told_band(*picture, row, band, errors)};
    }
    const std::lock_guard lock(told_mutex_);
    bands_ = std::move(bands);
  });
}

std::shared_ptr<const Manager::Bands> Manager::bands_now() {
  const std::lock_guard lock(told_mutex_);
  if (bands_ && clock_->now() - bands_->made > kBandsHold) bands_.reset();
  return bands_;
}

std::optional<json> Manager::band_of(const LiveJob& job, const Bands& bands) const {
  const auto found = bands.of.find(job.id);
  // In another row it has been held, or has lost its place, meanwhile.
  if (found == bands.of.end() || job.lease || job.row != found->second.first) return std::nullopt;
  const Band& band = found->second.second;
  return json{{"soonest", time_or_none(*clock_, band.soonest)},
              {"likely", time_or_none(*clock_, band.likely)},
              {"latest", time_or_none(*clock_, band.latest)}};
}

}  // namespace muster
