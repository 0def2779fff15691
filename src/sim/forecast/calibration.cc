#include "sim/forecast/calibration.h"

#include <algorithm>
#include <map>
#include <utility>

namespace muster {

namespace {

// The beliefs about waiting jobs are renewed after this share of them has been asked about.
constexpr std::size_t kRenewals = 20;

// The samples of a model, changed by the options.
class ChangedModel : public FutureModel {
 public:
  ChangedModel(const FutureModel& model, const CalibrationOptions& options)
      : model_(model), options_(options) {}
  Future draw(const Engine& engine, Instant now, Instant until, Random& random) const override {
    Future sample = model_.draw(engine, now, until, random);
    if (options_.actual == nullptr) return sample;
    options_.change(sample, options_.actual->draw(engine, now, until, random));
    return sample;
  }

 private:
  const FutureModel& model_;
  const CalibrationOptions& options_;
};

class Replay {
 public:
  Replay(const Engine& engine, const CalibrationOptions& options)
      : options_(options), truth_(engine, Instant(), {}) {}

  CalibrationReport run(std::vector<FutureArrival> history) {
    const std::size_t total = history.size();
    truth_.expect(std::move(history));
    while (truth_.advance(kHorizon)) {
      take_news();
      const bool due = report_.jobs / kTell != told_;
      told_ = report_.jobs / kTell;
      if (due && options_.progress && !options_.progress(report_.jobs, total)) break;
    }
    tally_.finish(report_);
    return report_;
  }

 private:
  static constexpr std::size_t kTell = 256;

  struct Question {
    CalibrationSample sample;
    Instant by_limit;
  };

  void take_news() {
    const State& state = truth_.engine().state();
    for (const JobId job : truth_.ended().subspan(ended_)) {
      sampler_.learn(state.jobs[job].spec, state.jobs[job].work_done);
    }
    ended_ = truth_.ended().size();
    for (const JobId job : truth_.cancelled().subspan(cancelled_)) {
      sampler_.record_wait(truth_.now() - state.jobs[job].submitted, true);
      questions_.erase(job);
      record_.drop(job.index());
    }
    cancelled_ = truth_.cancelled().size();
    const std::size_t first = report_.jobs;
    report_.jobs = state.jobs.size();
    for (const JobId job : truth_.started().subspan(started_)) {
      if (job.index() >= first) ++report_.at_once;
      const bool again = state.jobs[job].epoch > 1;
      if (!again) sampler_.record_wait(truth_.now() - state.jobs[job].submitted, false);
      judge(job);
    }
    started_ = truth_.started().size();
    std::vector<JobId> due;
    for (std::size_t i = first; i < report_.jobs; ++i) {
      sampler_.record_arrival(truth_.now(), state.jobs[JobId(i)].spec);
      const bool waits = state.jobs[JobId(i)].state == JobState::kWaiting;
      if (waits && waited_++ % options_.every == 0) due.emplace_back(i);
    }
    if (!due.empty()) ask(due);
  }

  void ask(const std::vector<JobId>& due) {
    const Instant now = truth_.now();
    const ChangedModel model(sampler_, options_);
    ForecastOptions start = options_.start;
    start.seed += due.front().index() * 1'000;
    std::vector<JobId> jobs = due;
    since_renewal_ += due.size();
    if (since_renewal_ * kRenewals >= questions_.size()) {
      since_renewal_ = 0;
      for (const auto& [job, question] : questions_) jobs.push_back(job);
    }
    const auto starts = sample_starts(truth_.engine(), now, jobs, model, start);
    std::map<JobId, Instant> by_limit;
    if (options_.limit > Duration()) {
      by_limit = starts_by_limits(truth_.engine(), now, due, options_.limit);
    }
    for (const auto& [job, samples] : starts) {
      if (questions_.contains(job)) record_.refresh(job.index(), now, samples);
    }
    for (const JobId job : due) {
      Question& question = questions_[job];
      question.sample = {job, now, {}, starts.at(job), {}};
      question.sample.told = record_.add(job.index(), now, question.sample.raw);
      question.by_limit = by_limit[job];
    }
  }

  void judge(JobId job) {
    const auto found = questions_.find(job);
    if (found == questions_.end()) return;
    CalibrationSample& sample = found->second.sample;
    sample.started = truth_.now();
    tally_.add(sample);
    if (options_.limit > Duration()) tally_.add_by_limit(found->second.by_limit, sample);
    record_.resolve(job.index(), sample.started);
    questions_.erase(found);
  }

  const CalibrationOptions& options_;
  Lookahead truth_;
  RuntimeSampler sampler_;
  ForecastRecord record_;
  CalibrationReport report_;
  CalibrationTally tally_;
  std::map<JobId, Question> questions_;  // Forecasts of jobs that have not started.
  std::size_t started_ = 0;
  std::size_t ended_ = 0;
  std::size_t cancelled_ = 0;
  std::size_t waited_ = 0;
  std::size_t since_renewal_ = 0;
  std::size_t told_ = 0;
};

}  // namespace

CalibrationReport calibrate(const Engine& engine, std::vector<FutureArrival> history,
                            const CalibrationOptions& options) {
  return Replay(engine, options).run(std::move(history));
}

}  // namespace muster
