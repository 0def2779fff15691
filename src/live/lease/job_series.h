#pragma once

// The progress reports of one job, in bounded memory, and the forecast of its remaining time.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/fit/remaining.h"

namespace muster {

// Keeps the first and the latest point and a thinned selection between them: every second point,
// then every fourth, and so on. At most kMax points.
template <class Point>
class Thinned {
 public:
  static constexpr std::size_t kMax = 63;  // Odd, so that thinning keeps the last point.

  const std::vector<Point>& points() const { return points_; }
  void add(const Point& point) {
    // It was kept only as the latest.
    if (came_ % stride_ != 0 && !points_.empty()) points_.pop_back();
    points_.push_back(point);
    ++came_;
    if (points_.size() < kMax || came_ % stride_ != 0) return;
    for (std::size_t i = 0; 2 * i < points_.size(); ++i) points_[i] = points_[2 * i];
    points_.resize((points_.size() + 1) / 2);
    stride_ *= 2;
    came_ = 0;
  }
  template <class Condition>
  void drop_last_while(Condition condition) {
    while (!points_.empty() && condition(points_.back())) {
      points_.pop_back();
      came_ = 0;  // Earlier points are kept permanently.
    }
  }

 private:
  std::vector<Point> points_;
  std::uint64_t stride_ = 1;
  std::uint64_t came_ = 0;  // Points since the last permanent one.
};

class JobSeries {
 public:
  // Adds the job's position after `ran` seconds of run time.
  void add(double ran, std::uint32_t lease, std::optional<double> step, std::optional<double> epoch,
           std::optional<double> total);
  void add_loss(double epoch, double loss);
  bool empty() const { return latest_ < 0; }

  // Predicts the remaining time after `ran` of run time. Subtracts the time since the last report,
  // but never nearly all of it, because a silent job may be stuck.
  Result<Remaining> predict(Duration ran) const;

  // The last report, for speed measurements. Returns nullopt if the values are impossible.
  struct Latest {
    double steps = 0;
    double rate = 0;  // Steps per second in this lease, by the manager's clock.
    double epochs = 0;
    double loss = 0;  // 0 if the job does not report it.
  };
  std::optional<Latest> latest(std::uint32_t lease) const;

 private:
  Thinned<PacePoint> steps_;
  Thinned<PacePoint> epochs_;
  Thinned<LossPoint> losses_;
  std::optional<double> total_;
  double latest_ = -1;  // Run time in seconds at the last point; below zero: no point.
};

// Returns true if the new forecast `left` should trigger a new plan. `expected` is what the last
// reported forecast leaves by now; `since` is the run time since that report. Differences within
// the forecast's uncertainty are noise and would only swap jobs back and forth. Exceptions: a
// factor of two, and a small but certain error in an old report.
bool is_notable(const Remaining& left, double expected, Duration since);

// {"seconds", "low", "high", "by", "words"}, or only "words" if there is no forecast.
nlohmann::json remaining_json(const Result<Remaining>& left);

// "45 s", "12 min", "1 h 20 min", "3 days 4 h".
std::string time_words(double seconds);

}  // namespace muster
