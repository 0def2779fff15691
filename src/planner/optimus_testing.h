#pragma once

// For the tests of Optimus' scheduler: a small cluster in rounds of ten minutes where every order
// is carried out at once, jobs train as their life says, end when it is over, and report at each
// round.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "fit/loss_curve.h"
#include "planner/optimus.h"

namespace muster {

// What only the world knows of a job.
struct Life {
  double passes = 40;                    // Until it ends.
  double pass_steps = 360;               // Steps a pass.
  LossCurve loss = {0.2, 1, 0.1, 0, 0};  // Converges after some 30 passes.
  Scaling scaling = {1, 0, 0};
  bool reports = true;

  double steps_per_second(int gpus) const {
    const auto time = [&](double w) {
      return scaling.compute / w + scaling.fixed + scaling.each * w;
    };
    return time(1) / time(gpus);
  }
};

// On 1 to `most` GPUs.
inline JobSpec elastic(std::int32_t most, int tenant = 0) {
  JobSpec spec;
  spec.gpus = 1;
  spec.fewest = 1;
  spec.most = most;
  spec.tenant = TenantId(tenant);
  return spec;
}
inline JobSpec gang(std::int32_t gpus, int tenant = 0) {
  JobSpec spec;
  spec.gpus = gpus;
  spec.tenant = TenantId(tenant);
  return spec;
}

class OptimusWorld {
 public:
  explicit OptimusWorld(std::string_view shorthand, const OptimusOptions& options = {})
      : OptimusWorld(parse_cluster_shorthand(shorthand).value(), options) {}
  OptimusWorld(Topology topology, const OptimusOptions& options)
      : topology_(std::move(topology)),
        profiles_(two_sorts()),
        cluster_(topology_, profiles_),
        engine_(cluster_, std::make_unique<Optimus>(cluster_, options), rounds()) {}
  OptimusWorld(const OptimusWorld&) = delete;
  OptimusWorld& operator=(const OptimusWorld&) = delete;

  // The event that submits it; must be handed in before the next is made.
  JobSubmitted job(const JobSpec& spec, const Life& life = {}) {
    trainings_.push_back({life});
    return {spec};
  }

  // Everything done up to and at this second: "@0 start 0 on 0:2, @600 stop 0, @600 start 0 on
  // 0:4".
  std::string at(std::int64_t second, const std::vector<Event>& events = {}) {
    text_.clear();
    const Instant until = Instant::at(Duration::seconds(second));
    for (Instant next = next_instant(); next < until; next = next_instant()) step(next, {});
    step(until, events);
    return text_;
  }
  // Until all jobs are over, or for so many rounds.
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
  // "4 2 0": of all jobs submitted.
  std::string shares() const {
    std::string text;
    for (std::size_t i = 0; i < state().jobs.size(); ++i) {
      text += (i == 0 ? "" : " ") + std::to_string(gpus(static_cast<int>(i)));
    }
    return text;
  }
  bool is_over(int job) const { return state().jobs[JobId(job)].state == JobState::kDone; }
  int starts(int job) const { return trainings_[static_cast<std::size_t>(job)].starts; }
  LeaseEnded end(int job) {
    trainings_[static_cast<std::size_t>(job)].gpus = 0;
    return {JobId(job), engine_.lease(JobId(job)).epoch, LeaseOutcome::kCompleted};
  }
  // What it says of itself now, to be changed.
  JobReported report(int job) {
    const Training& training = trainings_[static_cast<std::size_t>(job)];
    JobReported said;
    said.job = JobId(job);
    said.epoch = engine_.lease(said.job).epoch;
    said.speed = 1;
    said.steps = training.steps;
    said.passes = training.steps / training.life.pass_steps;
    said.loss = training.life.loss.b0 > 0 ? training.life.loss.at(said.passes) : 2;
    return said;
  }
  // "fair-share 10, order 5": seconds, the causes of none left out.
  std::string waited(int job, std::int64_t second) const {
    const WaitSplit split = engine_.waited(JobId(job), Instant::at(Duration::seconds(second)));
    std::string text;
    for (std::size_t i = 0; i < kWaitCauses; ++i) {
      if (split.by_cause[i] == Duration()) continue;
      if (!text.empty()) text += ", ";
      text += std::string(kWaitCauseNames[i]) + ' ' +
              std::to_string(split.by_cause[i].us() / 1'000'000);
    }
    return text;
  }

 private:
  struct Training {
    Life life;
    double steps = 0;
    int gpus = 0;  // 0: it stands still.
    int starts = 0;

    double total() const { return life.passes * life.pass_steps; }
    double rate() const { return gpus == 0 ? 0 : life.steps_per_second(gpus); }
  };
  static EngineOptions rounds() {
    EngineOptions options;
    options.round = Duration::seconds(600);
    return options;
  }
  static ProfileTable two_sorts() {
    ProfileTable table;
    MUSTER_CHECK(table.add(Profile::unknown("a")).ok());
    return table;
  }

  Instant next_instant() const {
    Instant next = wake_;
    for (const Training& each : trainings_) {
      if (each.gpus > 0) next = std::min(next, end_of(each));
    }
    return next;
  }
  Instant end_of(const Training& training) const {
    const double seconds = (training.total() - training.steps) / training.rate();
    return now_ + Duration::micros(static_cast<std::int64_t>(seconds * 1e6) + 1);
  }

  void step(Instant now, std::vector<Event> events) {
    std::vector<Event> news;
    const bool woken = now >= wake_;
    if (woken) {
      news.push_back(TimerFired{});
      wake_ = Instant::never();
    }
    for (std::size_t i = 0; i < trainings_.size(); ++i) {
      Training& each = trainings_[i];
      if (each.gpus == 0) continue;
      const bool over = end_of(each) <= now;
      each.steps = std::min(each.total(), each.steps + each.rate() * (now - now_).in_seconds());
      const int job = static_cast<int>(i);
      if (over) {
        news.push_back(end(job));
      } else if (woken && each.life.reports) {
        news.push_back(report(job));
      }
    }
    now_ = now;
    news.insert(news.end(), events.begin(), events.end());
    while (!news.empty()) news = answers(engine_.step(now, news));
  }

  std::vector<Event> answers(std::span<const Action> actions) {
    std::vector<Event> answers;
    for (const Action& action : actions) {
      if (action.kind == Action::Kind::kWakeAt) {  // Names no job.
        wake_ = action.at;
        continue;
      }
      Training& training = trainings_[action.job.index()];
      const std::string number = std::to_string(action.job.index());
      if (action.kind == Action::Kind::kStart) {
        std::string where;
        for (const Share& share : engine_.lease(action.job).placement) {
          where += ' ' + std::to_string(share.node.index()) + ':' + std::to_string(share.gpus());
        }
        note("start " + number + " on" + where);
        training.gpus = gpus(static_cast<int>(action.job.index()));
        ++training.starts;
        answers.push_back(LeaseStarted{action.job, action.epoch});
      } else if (action.kind == Action::Kind::kStop) {
        note("stop " + number);
        training.gpus = 0;
        answers.push_back(LeaseEnded{action.job, action.epoch, LeaseOutcome::kStopped});
      } else if (action.kind == Action::Kind::kReject) {
        note("reject " + number + ": " + engine_.why_rejected(action.job));
      }
    }
    engine_.state().check_invariants();
    return answers;
  }
  void note(const std::string& what) {
    if (!text_.empty()) text_ += ", ";
    text_ += '@' + std::to_string(now_.us() / 1'000'000) + ' ' + what;
  }

  Topology topology_;
  ProfileTable profiles_;
  Cluster cluster_;
  Engine engine_;
  std::vector<Training> trainings_;  // By job.
  Instant now_;
  Instant wake_ = Instant::never();
  std::string text_;
};

}  // namespace muster
