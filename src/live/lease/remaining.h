#pragma once

// What is kept of a job's reports, a bounded part however long it runs, and how much longer it will
// take by that, in numbers and in words.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/fit/remaining.h"

namespace muster {

// Points in the order they came, of a long past every second, every fourth and so on; always the
// first and the latest.
template <class Point>
class Thinned {
 public:
  static constexpr std::size_t kMost = 63;  // Odd, so that of every second one the last is one.

  const std::vector<Point>& points() const { return points_; }
  void add(const Point& point) {
    if (came_ % stride_ != 0 && !points_.empty()) points_.pop_back();  // It was only the latest.
    points_.push_back(point);
    ++came_;
    if (points_.size() < kMost || came_ % stride_ != 0) return;
    for (std::size_t i = 0; 2 * i < points_.size(); ++i) points_[i] = points_[2 * i];
    points_.resize((points_.size() + 1) / 2);
    stride_ *= 2;
    came_ = 0;
  }
  template <class Condition>
  void drop_last_while(Condition condition) {
    while (!points_.empty() && condition(points_.back())) {
      points_.pop_back();
      came_ = 0;  // Those before it are kept for good.
    }
  }

 private:
  std::vector<Point> points_;
  std::uint64_t stride_ = 1;
  std::uint64_t came_ = 0;  // Since one was kept for good.
};

class JobSeries {
 public:
  // Where the job was when it had run so many seconds.
  void add(double ran, std::uint32_t lease, std::optional<double> step, std::optional<double> epoch,
           std::optional<double> total);
  void add_loss(double epoch, double loss);
  bool empty() const { return latest_ < 0; }

  // From when it has run this long. Time since it last said anything is taken off, but never nearly
  // all: who says nothing more may be stuck.
  Result<Remaining> predict(Duration ran) const;

  // What it said last, for whoever measures speeds; nothing if it cannot be.
  struct Latest {
    double steps = 0;
    double rate = 0;  // Steps a second in this lease, by our clock.
    double epochs = 0;
    double loss = 0;  // Zero when it says none.
  };
  std::optional<Latest> latest(std::uint32_t lease) const;

 private:
  Thinned<PacePoint> steps_;
  Thinned<PacePoint> epochs_;
  Thinned<LossPoint> losses_;
  std::optional<double> total_;
  double latest_ = -1;  // Seconds run at the last point; below zero: there is none.
};

// Whether it is worth deciding anew: by what was said so long ago (of running) this much would be
// left by now. Less than a forecast is uncertain by is noise, by which jobs would only be swapped
// to and fro, unless it is twice or half as long; a small but certain error is mended when what
// was said is old.
bool is_notable(const Remaining& left, double expected, Duration since);

// {"seconds", "low", "high", "by", "words"}, or only the words where it cannot be told.
nlohmann::json remaining_json(const Result<Remaining>& left);

// "45 s", "12 min", "1 h 20 min", "3 days 4 h".
std::string time_words(double seconds);

}  // namespace muster
