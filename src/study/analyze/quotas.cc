#include "study/analyze/quotas.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace muster {

namespace {

// Time spent at each level so far. Returns the time above a level in O(log n).
class TimeAbove {
 public:
  explicit TimeAbove(const std::vector<Step>& steps) {
    for (const Step& step : steps) levels_.push_back(step.level);
    std::sort(levels_.begin(), levels_.end());
    levels_.erase(std::unique(levels_.begin(), levels_.end()), levels_.end());
    sums_.assign(levels_.size() + 1, 0);
  }

  void add(std::int64_t level, Duration time) {
    const auto at = std::lower_bound(levels_.begin(), levels_.end(), level) - levels_.begin();
    for (std::size_t i = static_cast<std::size_t>(at) + 1; i < sums_.size(); i += i & (~i + 1)) {
      sums_[i] += time.us();
    }
    all_ += time.us();
  }

  Duration above(std::int64_t limit) const {
    const auto at = std::upper_bound(levels_.begin(), levels_.end(), limit) - levels_.begin();
    std::int64_t upto = 0;
    for (auto i = static_cast<std::size_t>(at); i > 0; i -= i & (~i + 1)) upto += sums_[i];
    return Duration::micros(all_ - upto);
  }

 private:
  std::vector<std::int64_t> levels_;
  std::vector<std::int64_t> sums_;  // A Fenwick tree, indexed from 1.
  std::int64_t all_ = 0;
};

struct Question {
  Instant at;
  std::uint32_t job = 0;
  bool start = false;  // Otherwise a submission.
};

std::vector<Question> questions_of(const std::vector<WaitingJob>& jobs) {
  std::vector<Question> questions;
  questions.reserve(2 * jobs.size());
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    questions.push_back({jobs[i].submit, i, false});
    questions.push_back({jobs[i].start, i, true});
  }
  std::sort(questions.begin(), questions.end(), [](const Question& a, const Question& b) {
    return std::tuple(a.at, a.job, a.start) < std::tuple(b.at, b.job, b.start);
  });
  return questions;
}

}  // namespace

std::int64_t guess_quota(const std::vector<Step>& held, QuotaGuess guess) {
  if (guess == QuotaGuess::kPeak || held.size() < 2) return peak_of(held);
  std::vector<std::pair<std::int64_t, std::int64_t>> times;  // Level and duration.
  for (std::size_t i = 0; i + 1 < held.size(); ++i) {
    times.emplace_back(held[i].level, (held[i + 1].at - held[i].at).us());
  }
  std::sort(times.begin(), times.end());
  const std::int64_t all = (held.back().at - held.front().at).us();
  std::int64_t above = all;
  for (const auto& [level, time] : times) {
    above -= time;
    if (above <= all / 20) return level;
  }
  return peak_of(held);
}

std::vector<FairShareWait> fair_share_waits(const std::vector<WaitingJob>& jobs,
                                            const std::vector<Step>& held, std::int64_t quota) {
  std::vector<FairShareWait> waits(jobs.size());
  TimeAbove times(held);
  std::size_t next = 0;    // Next step.
  std::int64_t level = 0;  // Current level,
  Instant since;           // valid since then.
  for (const Question& question : questions_of(jobs)) {
    for (; next < held.size() && held[next].at <= question.at; ++next) {
      if (next > 0) times.add(level, held[next].at - since);
      level = held[next].level;
      since = held[next].at;
    }
    const std::int64_t limit = quota - jobs[question.job].gpus;
    FairShareWait& wait = waits[question.job];
    Duration above = times.above(limit);
    if (next > 0 && level > limit) above += question.at - since;
    if (!question.start) {
      wait.on_arrival = level > limit;
      wait.time -= above;
    } else {
      wait.time += above;
    }
    // A job larger than the quota is over it even before the tenant held GPUs.
    if (question.start && limit < 0)
      wait.time = jobs[question.job].start - jobs[question.job].submit;
  }
  return waits;
}

}  // namespace muster
