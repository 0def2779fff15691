#pragma once

// Time types, in whole microseconds. An Instant is a point on the cluster's clock, where zero is
// the start of the trace or journal. A Duration is a length. Mixing them up does not compile.

#include <compare>
#include <cstdint>
#include <limits>

namespace muster {

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration micros(std::int64_t us) { return Duration(us); }
  static constexpr Duration seconds(std::int64_t s) { return Duration(s * 1'000'000); }
  static constexpr Duration max() { return Duration(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t us() const { return us_; }
  constexpr double in_seconds() const { return static_cast<double>(us_) * 1e-6; }
  constexpr double in_hours() const { return static_cast<double>(us_) / 3.6e9; }

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.us_ + b.us_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.us_ - b.us_); }
  friend constexpr Duration operator*(Duration a, std::int64_t k) { return Duration(a.us_ * k); }
  constexpr Duration& operator+=(Duration other) { return us_ += other.us_, *this; }
  constexpr Duration& operator-=(Duration other) { return us_ -= other.us_, *this; }

 private:
  constexpr explicit Duration(std::int64_t us) : us_(us) {}
  std::int64_t us_ = 0;
};

class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant at(Duration since_start) { return Instant(since_start.us()); }
  static constexpr Instant micros(std::int64_t us) { return Instant(us); }
  static constexpr Instant never() { return Instant(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t us() const { return us_; }
  constexpr double in_seconds() const { return static_cast<double>(us_) * 1e-6; }

  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant t, Duration d) { return Instant(t.us_ + d.us()); }
  friend constexpr Instant operator-(Instant t, Duration d) { return Instant(t.us_ - d.us()); }
  friend constexpr Duration operator-(Instant a, Instant b) {
    return Duration::micros(a.us_ - b.us_);
  }

 private:
  constexpr explicit Instant(std::int64_t us) : us_(us) {}
  std::int64_t us_ = 0;
};

// The longest duration that input can contain: 100 years. Parsers reject longer ones.
inline constexpr Duration kLongestDuration = Duration::seconds(3'155'760'000);

// The latest instant in any computation, about 127,000 years. Sums of a few such times do not
// overflow.
inline constexpr Instant kHorizon = Instant::micros(4'000'000'000'000'000'000);

}  // namespace muster
