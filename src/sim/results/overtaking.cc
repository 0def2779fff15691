#include "sim/results/overtaking.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/types/check.h"

namespace muster {

namespace {

// Array with a query for the first value above a limit from a position on, in O(log n).
class PeakTree {
 public:
  // The width is `size` rounded up to a power of two. Unset values are 0.
  explicit PeakTree(std::size_t size) : width_(std::bit_ceil(size)), peaks_(2 * width_, 0) {}

  std::size_t width() const { return width_; }

  // Call build() after the last fill() and before the first query.
  void fill(std::size_t at, std::int32_t value) { peaks_[width_ + at] = value; }
  void build() {
    for (std::size_t i = width_; i-- > 1;) peaks_[i] = std::max(peaks_[2 * i], peaks_[2 * i + 1]);
  }

  void clear(std::size_t at) {
    std::size_t i = width_ + at;
    peaks_[i] = 0;
    for (i /= 2; i >= 1; i /= 2) peaks_[i] = std::max(peaks_[2 * i], peaks_[2 * i + 1]);
  }

  // Returns width() if there is none. REQUIRES: limit >= 0.
  std::size_t first_above(std::size_t from, std::int32_t limit) const {
    std::size_t i = width_ + from;
    while (peaks_[i] <= limit) {
      ++i;
      if (std::has_single_bit(i)) return width_;  // That was the last of its level.
      while (i % 2 == 0) i /= 2;                  // The largest subtree that begins here.
    }
    while (i < width_) i = peaks_[2 * i] > limit ? 2 * i : 2 * i + 1;
    return i - width_;
  }

 private:
  std::size_t width_;
  std::vector<std::int32_t> peaks_;  // 1 is the root.
};

// A job's place in the queue. Places are sorted by tenant, then by submission.
struct Place {
  std::uint32_t job = 0;
  std::uint32_t first = 0;  // The tenant's first place.
  std::uint32_t older = 0;  // Places from `first` up to this one were submitted earlier.
};

std::vector<Place> line_up(std::span<const QueuedJob> jobs) {
  std::vector<Place> line(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    MUSTER_CHECK(jobs[i].gpus >= 1);
    line[i].job = static_cast<std::uint32_t>(i);
  }
  std::stable_sort(line.begin(), line.end(), [&](const Place& a, const Place& b) {
    if (jobs[a.job].tenant != jobs[b.job].tenant) return jobs[a.job].tenant < jobs[b.job].tenant;
    return jobs[a.job].submit < jobs[b.job].submit;
  });
  for (std::uint32_t i = 0; i < line.size(); ++i) {
    const QueuedJob& job = jobs[line[i].job];
    const bool same_tenant = i > 0 && jobs[line[i - 1].job].tenant == job.tenant;
    const bool as_old = same_tenant && jobs[line[i - 1].job].submit == job.submit;
    line[i].first = same_tenant ? line[i - 1].first : i;
    line[i].older = as_old ? line[i - 1].older : i;
  }
  return line;
}

bool started(const QueuedJob& job) { return job.start != Instant::never(); }
Instant waits_until(const QueuedJob& job) { return started(job) ? job.start : job.end; }

std::size_t size_index(std::int32_t gpus) { return gpus <= 4 ? 0 : gpus <= 8 ? 1 : 2; }

class FreeGpus {
 public:
  explicit FreeGpus(std::span<const FreePoint> points) : points_(points), tree_(points.size()) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool last = i + 1 == points.size();
      MUSTER_CHECK(last || points[i].at <= points[i + 1].at);
      if (last || points[i].at < points[i + 1].at) tree_.fill(i, points[i].free);
    }
    tree_.build();
  }

  // Returns true if more than `limit` GPUs are free at some instant in [begin, end).
  bool ever_above(std::int32_t limit, Instant begin, Instant end) const {
    const auto later =
        std::upper_bound(points_.begin(), points_.end(), begin,
                         [](Instant at, const FreePoint& point) { return at < point.at; });
    const auto next = static_cast<std::size_t>(later - points_.begin());
    const std::size_t found = tree_.first_above(next == 0 ? 0 : next - 1, limit);
    return found < points_.size() && std::max(points_[found].at, begin) < end;
  }

 private:
  std::span<const FreePoint> points_;
  PeakTree tree_;
};

// Replays the run: jobs leave the queue in order of time, and each start is checked.
class Replay {
 public:
  Replay(std::span<const QueuedJob> jobs, std::span<const FreePoint> free)
      : jobs_(jobs), line_(line_up(jobs)), waiting_(jobs.size()), free_(free) {
    for (std::size_t i = 0; i < line_.size(); ++i) waiting_.fill(i, job_at(i).gpus);
    waiting_.build();
    result_.jobs.assign(jobs.size(), Overtaking::kInOrder);
  }

  OvertakingResult run() && {
    std::vector<std::uint32_t> leaving(line_.size());
    std::iota(leaving.begin(), leaving.end(), 0U);
    std::erase_if(leaving, [&](std::uint32_t i) { return left_at(i) == Instant::never(); });
    std::sort(leaving.begin(), leaving.end(),
              [&](std::uint32_t a, std::uint32_t b) { return left_at(a) < left_at(b); });
    for (auto from = leaving.begin(); from != leaving.end();) {
      const auto to = std::find_if(from, leaving.end(),
                                   [&](std::uint32_t i) { return left_at(i) != left_at(*from); });
      std::for_each(from, to, [&](std::uint32_t i) { waiting_.clear(i); });
      std::for_each(from, to, [&](std::uint32_t i) { look_back(i); });
      from = to;
    }
    return std::move(result_);
  }

 private:
  const QueuedJob& job_at(std::size_t place) const { return jobs_[line_[place].job]; }
  Instant left_at(std::size_t place) const { return waits_until(job_at(place)); }

  void look_back(std::size_t place) {
    const QueuedJob& job = job_at(place);
    if (!started(job)) return;
    ++result_.starts;
    // The tree also contains jobs that are not yet submitted, but `older` excludes them.
    const std::size_t found = waiting_.first_above(line_[place].first, job.gpus);
    if (found >= line_[place].older) return;
    const QueuedJob& overtaken = job_at(found);
    const bool harmful = free_.ever_above(overtaken.gpus - job.gpus - 1, job.start,
                                          std::min(job.end, waits_until(overtaken)));
    result_.jobs[line_[place].job] = harmful ? Overtaking::kHarmful : Overtaking::kHarmless;
    for (OvertakingCount* count : {&result_.total, &result_.by_size[size_index(overtaken.gpus)]}) {
      ++count->overtaking;
      if (harmful) ++count->harmful;
    }
  }

  std::span<const QueuedJob> jobs_;
  std::vector<Place> line_;
  PeakTree waiting_;  // Requested GPUs by place; 0 after the job has left.
  FreeGpus free_;
  OvertakingResult result_;
};

}  // namespace

OvertakingResult find_overtaking(std::span<const QueuedJob> jobs, std::span<const FreePoint> free) {
  return Replay(jobs, free).run();
}

}  // namespace muster
