#pragma once

// Seeded random numbers that are the same on every machine and with every compiler. The standard
// distributions and the last bits of libm's log and exp differ between platforms, so this file has
// its own versions of both.

#include <cstdint>
#include <string_view>

namespace muster {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  // Returns an independent stream for one purpose. A new draw from one stream does not change the
  // others.
  Random fork(std::string_view purpose) const;

  std::uint64_t next();                      // 64 random bits.
  std::uint64_t below(std::uint64_t bound);  // 0 <= result < bound, without bias; bound > 0.
  double uniform();                          // 0 <= result < 1.
  double uniform(double low, double high);
  double exponential(double mean);
  double normal();  // Mean 0, standard deviation 1.

 private:
  std::uint64_t seed_;
  std::uint64_t state_[4];
};

// Natural logarithm and exponential, computed from additions and multiplications only. The relative
// error is about 1e-15. REQUIRES: x > 0 for portable_log, |x| < 700 for portable_exp.
double portable_log(double x);
double portable_exp(double x);

}  // namespace muster
