#include "engine/fit/allocate.h"

#include <algorithm>
#include <limits>
#include <queue>

#include "base/types/check.h"

namespace muster {

namespace {

struct Offer {
  double gain;
  std::size_t job;
  int more;     // Number of additional workers.
  double time;  // Remaining seconds of the job with them.
};

struct ComesAfter {
  bool operator()(const Offer& a, const Offer& b) const {
    return a.gain != b.gain ? a.gain < b.gain : a.job > b.job;
  }
};

double time_left(const ElasticJob& job, int workers) {
  const double lost = job.held > 0 && workers != job.held ? job.restart : 0;
  if (job.remaining == 0) return lost;
  const double speed = job.speed(workers);
  return speed > 0 ? job.remaining / speed + lost : std::numeric_limits<double>::infinity();
}

class Growth {
 public:
  Growth(std::span<const ElasticJob> jobs, std::vector<int>& workers, const GpuBudget& budget)
      : jobs_(jobs), workers_(workers), budget_(budget) {}

  void run() {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const ElasticJob& job = jobs_[i];
      MUSTER_CHECK(job.remaining >= 0 && job.priority >= 0 && job.cost >= 1 && job.restart >= 0);
      if (workers_[i] > 0 && workers_[i] < job.most) make_offer(i, time_left(job, workers_[i]));
    }
    while (!offers_.empty()) {
      const Offer offer = offers_.top();
      offers_.pop();
      const std::int64_t gpus = static_cast<std::int64_t>(offer.more) * jobs_[offer.job].cost;
      // The budget only shrinks, so this many never fit later.
      if (gpus > budget_.left(offer.job)) {
        if (offer.more > 1) make_offer(offer.job, time_left(jobs_[offer.job], workers_[offer.job]));
        continue;
      }
      budget_.take(offer.job, gpus);
      workers_[offer.job] += offer.more;
      make_offer(offer.job, offer.time);
    }
  }

 private:
  // Queues an offer for the job's next workers if they help. `time` is its remaining time without
  // them.
  void make_offer(std::size_t i, double time) {
    const ElasticJob& job = jobs_[i];
    const int now = workers_[i];
    const auto fit =
        static_cast<int>(std::min<std::int64_t>(job.most - now, budget_.left(i) / job.cost));
    if (fit < 1) return;
    Offer best{0, i, 0, 0};
    const auto consider = [&](int more) {
      const double then = time_left(job, now + more);
      if (!(then < time)) return false;  // Also if both are infinite.
      const double gain = job.priority * (time - then) / (static_cast<double>(job.cost) * more);
      if (!(gain > best.gain)) return false;
      best = {gain, i, more, then};
      return true;
    };
    consider(1);
    if (job.held > 0 && job.restart > 0 && now <= job.held) {
      if (now < job.held && job.held - now <= fit) consider(job.held - now);
      if (now == job.held && time > job.restart) {
        for (int more = 2; more <= fit; ++more) {
          if (!consider(more) && best.more > 0) break;  // More workers gain less from here on.
        }
      }
    }
    if (best.gain > 0) offers_.push(best);
  }

  std::span<const ElasticJob> jobs_;
  std::vector<int>& workers_;
  const GpuBudget& budget_;
  std::priority_queue<Offer, std::vector<Offer>, ComesAfter> offers_;
};

}  // namespace

std::vector<int> allocate_by_gain(std::span<const ElasticJob> jobs, std::int64_t gpus) {
  std::vector<int> workers(jobs.size(), 0);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ElasticJob& job = jobs[i];
    MUSTER_CHECK(1 <= job.least && job.least <= job.most && job.cost >= 1);
    const std::int64_t cost = static_cast<std::int64_t>(job.least) * job.cost;
    if (cost > gpus) continue;
    gpus -= cost;
    workers[i] = job.least;
  }
  const GpuBudget budget = {[&](std::size_t) { return gpus; },
                            [&](std::size_t, std::int64_t taken) { gpus -= taken; }};
  grow_by_gain(jobs, workers, budget);
  return workers;
}

void grow_by_gain(std::span<const ElasticJob> jobs, std::vector<int>& workers,
                  const GpuBudget& budget) {
  MUSTER_CHECK(workers.size() == jobs.size());
  Growth(jobs, workers, budget).run();
}

}  // namespace muster
