#pragma once

// Seeded random numbers that are the same on every machine and compiler. The standard library's
// distributions are not (their algorithms are unspecified), and neither are libm's log and exp to
// the last bit, so both have their own versions here.

#include <cstdint>
#include <string_view>

namespace muster {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  // An independent stream for one purpose, so that one new draw here does not shift the others.
  Random fork(std::string_view purpose) const;

  std::uint64_t next();                      // Any 64 bits.
  std::uint64_t below(std::uint64_t bound);  // 0 <= result < bound, without bias; bound > 0.
  double uniform();                          // 0 <= result < 1.
  double uniform(double low, double high);
  double exponential(double mean);
  double normal();  // Mean 0, standard deviation 1.

 private:
  std::uint64_t seed_;
  std::uint64_t state_[4];
};

// Natural logarithm and exponential from additions and multiplications alone, good to about 1e-15.
// portable_log wants x > 0; portable_exp wants |x| < 700.
double portable_log(double x);
double portable_exp(double x);

}  // namespace muster
