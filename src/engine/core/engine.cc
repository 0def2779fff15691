#include "engine/core/engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/types/check.h"
#include "engine/core/view.h"

namespace muster {

namespace {

Instant round_after(const EngineOptions& options, Instant when) {
  const Duration since = when - options.first_round;
  if (since < Duration()) return options.first_round;
  return options.first_round + options.round * (since.us() / options.round.us() + 1);
}

}  // namespace

Engine::Engine(const Cluster& cluster, Owned<Planner> planner, const EngineOptions& options)
    : EngineView(cluster, std::move(planner), options),
      nodes_(cluster.topology().node_count(), options.nodes) {
  MUSTER_CHECK(options.quantum > Duration());
  MUSTER_CHECK(options.checkpoint_interval > Duration());
  state_.stopping.resize(cluster.topology().node_count());
  state_.closed.resize(cluster.topology().node_count());
  state_.blocked.resize(cluster.topology().node_count());
}

const Lease& EngineView::lease(JobId job) const {
  MUSTER_CHECK(state_.jobs[job].lease != kNoRow);
  return state_.leases[static_cast<std::size_t>(state_.jobs[job].lease)];
}

std::optional<std::vector<JobId>> EngineView::queue_order(Instant now, std::size_t most) const {
  return planner_->queue_order(View(state_, std::max(now, now_)), most);
}

std::optional<BackfillReservation> EngineView::kept_free() const {
  const std::optional<BackfillReservation> kept = planner_->kept_free();
  const bool waits = kept && state_.jobs[kept->job].state == JobState::kWaiting;
  return waits ? kept : std::nullopt;
}

const std::string& EngineView::why_rejected(JobId job) const {
  const auto found = rejections_.find(job);
  MUSTER_CHECK(found != rejections_.end());
  return found->second;
}

void Engine::emit(Action::Kind kind, JobId job, Epoch epoch, Instant at) {
  actions_.push_back({kind, job, epoch, at});
  if (kind == Action::Kind::kWakeAt) return;  // A request to the driver, not a decision.
  digest_.add(static_cast<std::uint64_t>(kind) | std::uint64_t{epoch} << 8);
  digest_.add((std::uint64_t{job.index()} << 32) ^ static_cast<std::uint64_t>(now_.us()));
  if (kind == Action::Kind::kReject || kind == Action::Kind::kGiveUp) return;
  ++counters_.decisions;
  if (kind == Action::Kind::kStop) return;
  for (const Share& share : lease(job).in_force()) {
    digest_.add(share.slots ^ (std::uint64_t{share.node.index()} << 40));
    digest_.add(share.cpu_milli ^ (share.mem_mib << 24));
  }
}

void Engine::begin_step(Instant now, std::span<const Event> events) {
  MUSTER_CHECK(now >= now_);
  now_ = now;
  actions_.clear();
  decided_.plan.reset();
  decided_.blocked.clear();
  decided_.avoidance_ended = false;
  decided_.rejections.clear();
  decided_.reactions.clear();
  decided_.quarantines.clear();
  counters_.events += events.size();
  for (const Event& event : events) {
    std::visit([this](const auto& e) { apply(e); }, event);
  }
  if (!backing_off_.empty() || !avoidances_.empty() || !drains_.empty()) release_backed_off();
  if (given_ != nullptr && given_->avoidance_ended) news_ = true;
  block();
}

std::span<const Action> Engine::step(Instant now, std::span<const Event> events) {
  begin_step(now, events);
  const bool review = now >= review_;
  if (options_.round > Duration()) {
    const bool due =
        news_ || review || options_.plan_idle_rounds || (planner_->drifts() && state_.waiting > 0);
    if (on_tick() && due && last_plan_ != now)
      plan(news_ || review ? PlanTrigger::kTick : PlanTrigger::kIdleTick);
  } else {
    const bool tick =
        review || (planner_->drifts() && state_.waiting > 0 && on_tick() && last_plan_ != now);
    if (news_ || tick) plan(tick ? PlanTrigger::kTick : PlanTrigger::kNews);
  }
  end_step();
  return actions_;
}

void Engine::end_step() {
  // Resources that a plan freed on unschedulable nodes, or where external jobs need them, are not
  // available. Jobs that were promised them wait again.
  if (state_.closed_count > 0 || !state_.taken.empty()) revoke_misplaced();
  start_cleared();
  tell_reseated();
  ask_for_wake();
}

bool Engine::on_tick() const {
  if (now_ >= wake_) return true;  // The requested time, or later if the driver was late.
  if (options_.round == Duration()) return now_.us() % options_.quantum.us() == 0;
  const Duration since = now_ - options_.first_round;
  return since >= Duration() && since.us() % options_.round.us() == 0;
}

void Engine::ask_for_wake() {
  const bool drifting = planner_->drifts() && state_.waiting > 0;
  Instant wake = Instant::never();
  if (options_.round > Duration()) {
    const bool idle_too =
        options_.plan_idle_rounds && (!state_.placed.empty() || state_.waiting > 0);
    if (news_ || drifting || idle_too) {
      wake = round_after(options_, now_);
    } else if (review_ != Instant::never()) {
      wake = round_after(options_, std::max(now_, review_ - Duration::micros(1)));
    }
  } else {
    if (drifting) {
      wake = Instant::micros((now_.us() / options_.quantum.us() + 1) * options_.quantum.us());
    }
    wake = std::min(wake, review_);
    if (news_) wake = now_ + Duration::micros(1);  // A promised lease was revoked in end_step().
  }
  if (!backing_off_.empty()) wake = std::min(wake, backing_off_.first().until);
  if (!avoidances_.empty()) drop_void_avoidances();
  if (!avoidances_.empty()) wake = std::min(wake, avoidances_.first().until);
  for (const auto& [until, node] : drains_) wake = std::min(wake, until);
  if (wake == wake_) return;
  wake_ = wake;
  emit(Action::Kind::kWakeAt, JobId(), 0, wake);
}

void Engine::apply(const JobSubmitted& event) {
  Job job;
  job.spec = event.spec;
  job.submitted = job.since = now_;
  job.estimate = state_.estimator.estimate(event.spec);
  admit(state_.jobs.push_back(std::move(job)));
}

bool Engine::admit(JobId id) {
  std::optional<std::string> why =
      given_ != nullptr ? given_rejection(id) : planner_->refuse(state_.jobs[id].spec);
  if (why) {
    state_.jobs[id].state = JobState::kRejected;
    decided_.rejections.push_back({id, *why});
    rejections_.emplace(id, std::move(*why));
    emit(Action::Kind::kReject, id, 0, now_);
    return false;
  }
  ++state_.waiting;
  planner_->enqueue(View(state_, now_), id);
  news_ = true;
  return true;
}

void Engine::apply(const JobRestored& event) {
  MUSTER_CHECK(event.submitted <= now_);
  Job job;
  job.spec = event.spec;
  job.submitted = event.submitted;
  job.since = now_;
  job.estimate = event.estimate ? *event.estimate : state_.estimator.estimate(event.spec);
  job.predicted = event.estimate.has_value();
  job.work_done = event.work_done;
  job.gpu_us = event.gpu_us;
  job.cpu_milli_ms = event.cpu_milli_ms;
  job.mem_mib_ms = event.mem_mib_ms;
  // add_lease() increments the epoch, so a kept lease gets its old epoch.
  job.epoch = event.epoch - (event.placement.empty() || event.epoch == 0 ? 0 : 1);
  const JobId id = state_.jobs.push_back(std::move(job));
  if (!event.failures.empty()) {
    failures_[id] = event.failures;
    const Verdict last = retry_rule(event.spec).decide(event.failures.back(), {});
    if (last.next == Verdict::Next::kRetryElsewhere) avoid(id, event.failures.back().nodes);
    begin_patience(id);
  }
  if (!admit(id)) return;
  // Planners treat a predicted estimate differently.
  if (event.estimate) planner_->revised(View(state_, now_), id);
  if (event.placement.empty()) return;
  Draft draft(state_, now_, std::move(scratch_drafted_));
  if (!planner_->resume(View(state_, now_), draft, id, event.placement)) {
    state_.jobs[id].epoch = event.epoch;
  }
  commit(draft);
  scratch_drafted_ = std::move(draft.drafted_);
}

void Engine::apply(const JobCancelled& event) {
  if (!state_.jobs.contains(event.job)) return;
  Job& job = state_.jobs[event.job];
  if (job.state == JobState::kBackOff) {
    job.state = JobState::kCancelled;
    state_.avoided.erase(event.job);
    return;
  }
  if (job.state != JobState::kWaiting && job.state != JobState::kPlaced) return;
  planner_->forget(View(state_, now_), event.job, JobExit::kCancelled);
  if (job.state == JobState::kPlaced) {
    give_back(job);
    order_stop(job);
  } else {
    --state_.waiting;
  }
  job.state = JobState::kCancelled;
  state_.avoided.erase(event.job);
  news_ = true;
}

void Engine::apply(const LeaseStarted& event) {
  if (!state_.jobs.contains(event.job)) {
    ++counters_.stale;
    return;
  }
  Job& job = state_.jobs[event.job];
  if (job.lease == kNoRow || job.epoch != event.epoch) {
    ++counters_.stale;
    return;
  }
  Lease& lease = state_.leases[static_cast<std::size_t>(job.lease)];
  if (lease.state != Lease::State::kOrdered) return;
  state_.settle(job, now_);
  lease.state = Lease::State::kRunning;
  job.speed = lease.speed;
}

void Engine::apply(const JobReported& event) {
  const bool known = state_.jobs.contains(event.job) && state_.jobs[event.job].lease != kNoRow &&
                     lease(event.job).epoch == event.epoch;
  if (!known) {
    ++counters_.stale;
    return;
  }
  if (lease(event.job).state != Lease::State::kRunning) return;
  if (!std::isfinite(event.speed) || event.speed < 0) return;
  Job& job = state_.jobs[event.job];
  state_.settle(job, now_);
  job.speed = event.speed;
  planner_->observe(View(state_, now_), event);
}

void Engine::apply(const JobPredicted& event) {
  const auto row_of = [&](const Job& job) {
    for (const std::int32_t row : {job.lease, job.ending}) {
      if (row == kNoRow) continue;
      if (state_.leases[static_cast<std::size_t>(row)].epoch == event.epoch) return row;
    }
    return kNoRow;
  };
  const std::int32_t row =
      state_.jobs.contains(event.job) ? row_of(state_.jobs[event.job]) : kNoRow;
  if (row == kNoRow) {
    ++counters_.stale;
    return;
  }
  Job& job = state_.jobs[event.job];
  if (event.left <= Duration()) return;
  if (job.state != JobState::kWaiting && job.state != JobState::kPlaced) return;
  state_.settle(job, now_);
  // The measured speed, if there is one. A stopping lease has only its estimated speed.
  const double estimated = state_.leases[static_cast<std::size_t>(row)].speed;
  const double speed = row == job.lease && job.speed > 0 ? job.speed : estimated;
  const double work = static_cast<double>(event.left.us()) * speed;
  const auto most = static_cast<double>(kLongestDuration.us());
  const auto left = Duration::micros(static_cast<std::int64_t>(std::clamp(work, 1.0, most)));
  job.predicted = true;
  if (job.estimate == job.work_done + left) return;
  job.estimate = job.work_done + left;
  planner_->revised(View(state_, now_), event.job);
  news_ = true;
}

void Engine::apply(const JobSaved& event) {
  const bool known = state_.jobs.contains(event.job) && state_.jobs[event.job].lease != kNoRow &&
                     lease(event.job).epoch == event.epoch;
  if (!known) {
    ++counters_.stale;
    return;
  }
  Job& job = state_.jobs[event.job];
  Lease& lease = state_.leases[static_cast<std::size_t>(job.lease)];
  if (lease.state != Lease::State::kRunning) return;
  state_.settle(job, now_);
  lease.saved = std::max(job.work_done, Duration::micros(1));
}

std::span<const FailedAttempt> EngineView::failures(JobId job) const {
  const auto found = failures_.find(job);
  if (found == failures_.end()) return {};
  return found->second;
}

void Engine::apply(const TypeMeasured& event) { planner_->observe(View(state_, now_), event); }

void Engine::end_stopping(Job& job) {
  const std::int32_t row = std::exchange(job.ending, kNoRow);
  Lease& ended = state_.leases[static_cast<std::size_t>(row)];
  for (const Share& share : ended.placement)
    std::erase(state_.stopping[state_.yard(share.node)], row);
  // Leases that waited for these nodes may start or grow, unless later events or the plan prevent
  // it.
  for (const Lease::Blocked& waiter : ended.blocked) {
    const std::int32_t waiting_row = state_.jobs[waiter.job].lease;
    if (waiting_row == kNoRow) continue;
    Lease& lease = state_.leases[static_cast<std::size_t>(waiting_row)];
    if (lease.epoch != waiter.epoch || lease.wait != waiter.wait) continue;
    if (--lease.blockers > 0) continue;
    cleared_.emplace_back(waiter.job, waiter.epoch);
  }
  state_.release_lease(row);
}

void Engine::apply(const LeaseEnded& event) {
  if (!state_.jobs.contains(event.job)) {
    ++counters_.stale;
    return;
  }
  Job& job = state_.jobs[event.job];
  const auto is = [&](std::int32_t row) {
    return row != kNoRow && state_.leases[static_cast<std::size_t>(row)].epoch == event.epoch;
  };
  const bool current = is(job.lease);
  if (!current && !is(job.ending)) {
    ++counters_.stale;
    return;
  }
  digest_.add(std::uint64_t{event.epoch} << 8 | 0x80);
  digest_.add((std::uint64_t{event.job.index()} << 32) ^ static_cast<std::uint64_t>(now_.us()));
  if (current && event.outcome == LeaseOutcome::kStopped) {  // The engine did not order it.
    give_back(job);
    fall_back(job);
    revoke(job);
    wait_again(event.job);
    return;
  }
  if (current) {
    for (const Share& share : lease(event.job).placement) nodes_.succeeded(share.node);
    planner_->forget(View(state_, now_), event.job, JobExit::kCompleted);
    give_back(job);
    revoke(job);
  } else {
    end_stopping(job);
    if (event.outcome == LeaseOutcome::kStopped) return;
    // The job finished before it stopped, so the plans made for it since then are void.
    if (job.state == JobState::kPlaced) {
      planner_->forget(View(state_, now_), event.job, JobExit::kCompleted);
      give_back(job);
      order_stop(job);
    } else if (job.state == JobState::kWaiting) {
      planner_->forget(View(state_, now_), event.job, JobExit::kCompleted);
      --state_.waiting;
    }
  }
  if (job.state != JobState::kCancelled) {
    job.state = JobState::kDone;
    state_.estimator.learn(job.spec, job.work_done);
    inputs_.succeeded(job.spec.user, job.spec.name);
    failures_.erase(event.job);
    state_.avoided.erase(event.job);
  }
  news_ = true;
}

}  // namespace muster
