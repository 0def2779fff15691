#include "sim/forecast/calibration.h"

#include <algorithm>
#include <map>
#include <utility>

namespace muster {

namespace {

struct Question {
  Instant asked;
  Band raw;
  Band told;
};

Duration median(std::vector<Duration>& values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool holds(const Band& band, Instant start) {
  return band.soonest <= start && start <= band.latest;
}

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
    report_.wait = median(waits_);
    report_.width = median(widths_);
    report_.miss = median(misses_);
    return report_;
  }

 private:
  static constexpr std::size_t kTell = 256;

  void take_news() {
    const State& state = truth_.engine().state();
    for (const JobId job : truth_.ended().subspan(ended_)) {
      guesses_.learn(state.jobs[job].spec, state.jobs[job].work_done);
    }
    ended_ = truth_.ended().size();
    const std::size_t first = report_.jobs;
    report_.jobs = state.jobs.size();
    for (const JobId job : truth_.started().subspan(started_)) {
      if (job.index() >= first) ++report_.at_once;
      judge(job);
    }
    started_ = truth_.started().size();
    for (std::size_t i = first; i < report_.jobs; ++i) {
      guesses_.record_arrival(truth_.now(), state.jobs[JobId(i)].spec);
      if (state.jobs[JobId(i)].state == JobState::kWaiting) ask(JobId(i));
    }
  }

  void ask(JobId job) {
    if (waited_++ % options_.every != 0) return;
    Question question;
    question.asked = truth_.now();
    EtaOptions eta = options_.eta;
    eta.seed += job.index() * 1'000;
    question.raw = raw_eta(truth_.engine(), truth_.now(), job, guesses_, eta).band;
    question.told = errors_.corrected(question.asked, question.raw);
    questions_[job] = question;
  }

  void judge(JobId job) {
    const auto found = questions_.find(job);
    if (found == questions_.end()) return;
    const Question& question = found->second;
    const Instant start = truth_.now();
    ++report_.asked;
    if (holds(question.told, start)) ++report_.inside;
    if (start < question.told.soonest) ++report_.before;
    if (start > question.told.latest) ++report_.after;
    if (holds(question.raw, start)) ++report_.raw_inside;
    waits_.push_back(start - question.asked);
    widths_.push_back(std::min(question.told.latest, question.asked + options_.eta.horizon) -
                      question.told.soonest);
    const Instant likely = std::min(question.told.likely, question.asked + options_.eta.horizon);
    misses_.push_back(std::max(likely - start, start - likely));
    errors_.learn(question.asked, question.raw, question.told, start);
    questions_.erase(found);
  }

  const CalibrationOptions& options_;
  Lookahead truth_;
  RuntimeSampler guesses_;
  ForecastErrors errors_;
  CalibrationReport report_;
  std::map<JobId, Question> questions_;  // Forecasts of jobs that have not started.
  std::size_t started_ = 0;
  std::size_t ended_ = 0;
  std::size_t waited_ = 0;
  std::size_t told_ = 0;
  std::vector<Duration> waits_, widths_, misses_;
};

}  // namespace

CalibrationReport calibrate(const Engine& engine, std::vector<FutureArrival> history,
                            const CalibrationOptions& options) {
  return Replay(engine, options).run(std::move(history));
}

}  // namespace muster
