#pragma once

// For the tests of Optimus' scheduler: a small cluster in rounds of ten minutes where every order
// is carried out immediately. Its jobs are those of optimus_jobs_testing.h: they train as their
// Life specifies, end when it is complete, and report at each round.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/engine.h"
#include "engine/core/world_testing.h"
#include "engine/planner/optimus.h"
#include "engine/planner/optimus_jobs_testing.h"

namespace muster {

class OptimusWorld {
 public:
  explicit OptimusWorld(std::string_view shorthand, const OptimusOptions& options = {})
      : OptimusWorld(parse_cluster_shorthand(shorthand).value(), options) {}
  OptimusWorld(Topology topology, const OptimusOptions& options)
      : topology_(std::move(topology)),
        profiles_(one_profile()),
        cluster_(topology_, profiles_),
        engine_(cluster_, std::make_unique<Optimus>(cluster_, options), rounds()) {}
  OptimusWorld(const OptimusWorld&) = delete;
  OptimusWorld& operator=(const OptimusWorld&) = delete;

  // Returns the event that submits the job. Pass it to at() before the next call.
  JobSubmitted job(const JobSpec& spec, const Life& life = {}) {
    trainings_.add(life);
    return {spec};
  }

  // Advances to this second and returns all actions, such as "@0 start 0 on 0:2, @600 stop 0, @600
  // start 0 on 0:4".
  std::string at(std::int64_t second, const std::vector<Event>& events = {}) {
    text_.clear();
    const Instant until = Instant::at(Duration::seconds(second));
    for (Instant next = next_instant(); next < until; next = next_instant()) step(next, {});
    step(until, events);
    return text_;
  }
  // Runs until all jobs have finished, at most `rounds` rounds.
  void run(int rounds) {
    for (int i = 0; i < rounds && next_instant() != Instant::never(); ++i) {
      text_.clear();
      step(next_instant(), {});
    }
  }

  const Engine& engine() const { return engine_; }
  const State& state() const { return engine_.state(); }
  double now() const { return now_.in_seconds(); }
  int gpus(int job) const {
    const Job& row = state().jobs[JobId(job)];
    return row.lease == kNoRow ? 0 : engine_.lease(JobId(job)).total.gpus;
  }
  // GPUs of all submitted jobs, such as "4 2 0".
  std::string shares() const {
    std::string text;
    for (std::size_t i = 0; i < state().jobs.size(); ++i) {
      text += (i == 0 ? "" : " ") + std::to_string(gpus(static_cast<int>(i)));
    }
    return text;
  }
  bool is_over(int job) const { return state().jobs[JobId(job)].state == JobState::kDone; }
  int starts(int job) const { return trainings_[job].starts; }
  LeaseEnded end(int job) {
    trainings_[job].gpus = 0;
    return {JobId(job), engine_.lease(JobId(job)).epoch, LeaseOutcome::kCompleted};
  }
  // Current report of the job, which a test may change.
  JobReported report(int job) {
    return trainings_[job].report(JobId(job), engine_.lease(JobId(job)).epoch);
  }
  // As wait_text().
  std::string waited(int job, std::int64_t second) const { return wait_text(engine_, job, second); }

 private:
  static EngineOptions rounds() {
    EngineOptions options;
    options.round = Duration::seconds(600);
    return options;
  }

  Instant next_instant() const { return std::min(wake_, trainings_.first_end(now_)); }

  void step(Instant now, std::vector<Event> events) {
    std::vector<Event> news;
    const bool woken = now >= wake_;
    if (woken) {
      news.push_back(TimerFired{});
      wake_ = Instant::never();
    }
    for (const auto& [job, over] : trainings_.advance(now_, now)) {
      if (over) {
        news.push_back(end(job));
      } else if (woken && trainings_[job].life.reports) {
        news.push_back(report(job));
      }
    }
    now_ = now;
    news.insert(news.end(), events.begin(), events.end());
    carry_out(engine_, now, std::move(news), [this](const Action& action) { take(action); });
  }

  void take(const Action& action) {
    if (action.kind == Action::Kind::kWakeAt) {  // Has no job.
      wake_ = action.at;
      return;
    }
    OptimusTraining& training = trainings_[static_cast<int>(action.job.index())];
    const std::string number = std::to_string(action.job.index());
    if (action.kind == Action::Kind::kStart) {
      note("start " + number + " on " + placement_text(engine_.lease(action.job).placement));
      training.gpus = gpus(static_cast<int>(action.job.index()));
      ++training.starts;
    } else if (action.kind == Action::Kind::kStop) {
      note("stop " + number);
      training.gpus = 0;
    } else if (action.kind == Action::Kind::kReject) {
      note("reject " + number + ": " + engine_.why_rejected(action.job));
    }
  }
  void note(const std::string& what) {
    if (!text_.empty()) text_ += ", ";
    text_ += '@' + std::to_string(now_.us() / 1'000'000) + ' ' + what;
  }

  Topology topology_;
  ProfileTable profiles_;
  Cluster cluster_;
  Engine engine_;
  OptimusTrainings trainings_;
  Instant now_;
  Instant wake_ = Instant::never();
  std::string text_;
};

}  // namespace muster
