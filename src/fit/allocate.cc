#include "fit/allocate.h"

#include <cstddef>
#include <limits>
#include <queue>
#include <utility>

#include "base/check.h"

namespace muster {

namespace {

struct Offer {
  double gain;
  std::size_t job;
  double time;  // How long the job would take with one worker more.
};

struct ComesAfter {
  bool operator()(const Offer& a, const Offer& b) const {
    return a.gain != b.gain ? a.gain < b.gain : a.job > b.job;
  }
};

double time_left(const ElasticJob& job, int workers) {
  if (job.remaining == 0) return 0;
  const double speed = job.speed(workers);
  return speed > 0 ? job.remaining / speed : std::numeric_limits<double>::infinity();
}

class Round {
 public:
  Round(std::span<const ElasticJob> jobs, std::int64_t gpus)
      : jobs_(jobs), left_(gpus), workers_(jobs.size(), 0) {}

  std::vector<int> run() {
    for (std::size_t i = 0; i < jobs_.size(); ++i) give_least(i);
    while (!offers_.empty()) {
      const Offer offer = offers_.top();
      offers_.pop();
      if (jobs_[offer.job].cost > left_) continue;  // What is left only shrinks: never again.
      left_ -= jobs_[offer.job].cost;
      ++workers_[offer.job];
      make_offer(offer.job, offer.time);
    }
    return std::move(workers_);
  }

 private:
  void give_least(std::size_t i) {
    const ElasticJob& job = jobs_[i];
    MUSTER_CHECK(job.remaining >= 0 && job.priority >= 0 && job.cost >= 1);
    MUSTER_CHECK(1 <= job.least && job.least <= job.most);
    const std::int64_t cost = static_cast<std::int64_t>(job.least) * job.cost;
    if (cost > left_) return;
    left_ -= cost;
    workers_[i] = job.least;
    if (job.least < job.most) make_offer(i, time_left(job, job.least));
  }

  // Puts the job's next worker up, if it brings anything.
  void make_offer(std::size_t i, double time) {
    const ElasticJob& job = jobs_[i];
    if (workers_[i] >= job.most) return;
    const double next = time_left(job, workers_[i] + 1);
    if (!(next < time)) return;  // Also where both are infinite.
    const double gain = job.priority * (time - next) / job.cost;
    if (gain > 0) offers_.push({gain, i, next});
  }

  std::span<const ElasticJob> jobs_;
  std::int64_t left_;
  std::vector<int> workers_;
  std::priority_queue<Offer, std::vector<Offer>, ComesAfter> offers_;
};

}  // namespace

std::vector<int> allocate_by_gain(std::span<const ElasticJob> jobs, std::int64_t gpus) {
  return Round(jobs, gpus).run();
}

}  // namespace muster
