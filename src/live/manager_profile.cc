// What the manager does about the speed of jobs: it has it measured, keeps what was found, and
// decides by it from then on.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "live/answers.h"
#include "live/manager.h"
#include "shim/processes.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr Duration kLookWhileMeasuring = Duration::micros(250'000);
constexpr int kMostDepth = 8;  // Of what users send: it is walked through by recursion.

json profile_view(const Learnt& learnt) {
  const MeasuredProfile& measured = learnt.measured;
  return {{"user", learnt.user},
          {"name", learnt.name},
          {"gpus", measured.gpus},
          {"points", points_json(measured.curve)},
          {"need_cpus", static_cast<double>(measured.curve.need()) / 1000 / measured.gpus},
          {"measured_at", learnt.unix_s},
          {"words", need_words(learnt)}};
}

}  // namespace

void Manager::look_at_speeds(std::vector<Input>& inputs) {
  if (!settings_.profile || !roster_->settings().uses_profiles) {
    if (profiler_->busy()) let_speeds_go();
    return;
  }
  // By the clock of the files that jobs write.
  profiler_->look(*roster_, learnt_, now_on_both_clocks().wall_us);
  set_limits();
  for (Profiler::Finding& finding : profiler_->take_findings()) {
    inputs.push_back(ProfiledInput{finding.id, finding.kind, finding.words});
    if (!finding.learnt) continue;
    learn(learnt_, std::move(*finding.learnt));
    learnt_changed_ = true;
  }
  next_speed_look_ =
      clock_->now() + (profiler_->busy() ? kLookWhileMeasuring : settings_.progress_every);
}

// Below what leases hold, for a while: nothing that is decided, so nothing for the journal.
void Manager::set_limits() {
  std::vector<HandOrder> orders;
  for (const Profiler::Limit& limit : profiler_->take_limits()) {
    HandOrder order;
    order.kind = HandOrder::Kind::kResize;
    order.id = limit.id;
    order.lease = limit.lease;
    order.limits = launch_limits(limit.placement);
    orders.push_back(std::move(order));
  }
  hands_->order(std::move(orders));
}

void Manager::let_speeds_go() {
  profiler_->let_go();
  set_limits();
}

// What was learnt is part of the settings, those in force and those that wait; nothing that runs
// can fail to fit for it. Not while a lease is stopping, which a new era would not know.
Refusal Manager::decide_by_what_was_learnt() {
  const auto stops = [](const auto& each) {
    return each.second.lease && each.second.lease->stopping;
  };
  if (std::any_of(roster_->jobs().begin(), roster_->jobs().end(), stops)) return std::nullopt;
  learnt_changed_ = false;
  settings_.scheduling = with_learnt(settings_.scheduling, learnt_);
  const std::string old = std::exchange(in_force_, with_learnt(in_force_, learnt_));
  Refusal refusal;
  if (old != in_force_) refusal = begin_era(*roster_);
  if (refusal) in_force_ = old;
  for (Waiter& each : std::exchange(profile_waiters_, {})) {
    each.done(refusal ? unreadable(*refusal) : std::move(each.answer));
  }
  return refusal;
}

void Manager::keep_profile(const Caller& caller, const KeepProfile& call,
                           std::function<void(Answer)> done) {
  JobRequest request;
  Learnt learnt;
  try {
    bool deep = false;
    json body = json::parse(call.body, [&](int depth, json::parse_event_t, json&) {
      deep = deep || depth > kMostDepth;
      return depth <= kMostDepth;
    });
    if (deep) return done(refused(400, "not what was measured of a job: too deep"));
    request.name = body.at("name").get<std::string>();
    request.command = body.at("command").get<std::vector<std::string>>();
    complete_request(request);
    if (const Refusal refusal = check_request(request)) return done(refused(400, refusal->message));
    body["key"] = profile_key(caller.user, request);
    body.erase("reach");
    Result<Learnt> read = read_learnt(body.dump());
    if (!read.ok()) return done(refused(400, read.error().message));
    learnt = std::move(read).value();
  } catch (const json::exception& error) {
    return done(refused(400, std::string("not what was measured of a job: ") + error.what()));
  }
  learnt.user = caller.user;
  learnt.name = request.name;
  learnt.unix_s = clock_->unix_us(clock_->now()) / 1'000'000;
  profile_waiters_.push_back({std::move(done), said(profile_view(learnt))});
  learn(learnt_, std::move(learnt));
  learnt_changed_ = true;
}

Answer Manager::list_profiles(const Caller& caller) const {
  json list = json::array();
  for (const Learnt& each : learnt_) {
    if (may_see(caller, each.user)) list.push_back(profile_view(each));
  }
  return said({{"profiles", std::move(list)}});
}

}  // namespace muster
