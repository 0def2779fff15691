#include "base/types/random.h"

#include <bit>

#include "base/types/check.h"
#include "base/types/digest.h"

namespace muster {

namespace {
constexpr double kLn2High = 0x1.62e42fefa3800p-1;  // The leading bits of ln 2, so that n * kLn2High
constexpr double kLn2Low = 0x1.ef35793c76730p-45;  // is exact for every exponent n.
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr std::uint64_t kExponentMask = 0x7ffULL << 52;
}  // namespace

// xoshiro256**, seeded by splitmix64 (Blackman and Vigna).
Random::Random(std::uint64_t seed) : seed_(seed), state_{} {
  std::uint64_t x = seed;
  for (std::uint64_t& word : state_) {
    x += 0x9e3779b97f4a7c15ULL;
    word = Digest::mix(x);
  }
}

Random Random::fork(std::string_view purpose) const {
  Digest digest;
  digest.add(seed_);
  digest.add(purpose);
  return Random(digest.value());
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  MUSTER_CHECK(bound > 0);
  const std::uint64_t unfair = (0 - bound) % bound;  // The number of low values to reject.
  std::uint64_t draw = next();
  while (draw < unfair) draw = next();
  return draw % bound;
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Random::uniform(double low, double high) { return low + (high - low) * uniform(); }

double Random::exponential(double mean) { return -mean * portable_log(1.0 - uniform()); }

double Random::normal() {
  // Marsaglia's polar method. It avoids sine and cosine, which differ between machines.
  while (true) {
    const double u = 2.0 * uniform() - 1.0;
    const double v = 2.0 * uniform() - 1.0;
    const double s = u * u + v * v;
    if (s <= 0.0 || s >= 1.0) continue;
    const double ratio = -2.0 * portable_log(s) / s;
    double root = ratio < 1.0 ? 1.0 : ratio;  // Newton's square root, from above.
    for (int i = 0; i < 64; ++i) {
      const double better = 0.5 * (root + ratio / root);
      if (better >= root) break;
      root = better;
    }
    return u * root;
  }
}

double portable_log(double x) {
  MUSTER_CHECK(x > 0.0);
  auto bits = std::bit_cast<std::uint64_t>(x);
  if ((bits & kExponentMask) == 0) return portable_log(x * 0x1.0p60) - 60.0 * kLn2;  // Subnormal.
  int exponent = static_cast<int>((bits & kExponentMask) >> 52) - 1023;
  bits = (bits & ~kExponentMask) | (1023ULL << 52);
  double mantissa = std::bit_cast<double>(bits);  // In [1, 2).
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  const double z = (mantissa - 1.0) / (mantissa + 1.0);  // log m = 2 atanh z, |z| < 0.172.
  const double z2 = z * z;
  double sum = 0.0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * z2 + 1.0 / k;
  const double n = exponent;
  return n * kLn2High + (2.0 * z * sum + n * kLn2Low);
}

double portable_exp(double x) {
  MUSTER_CHECK(x > -700.0 && x < 700.0);
  const auto n = static_cast<int>(x / kLn2 + (x < 0 ? -0.5 : 0.5));
  const double r = (x - n * kLn2High) - n * kLn2Low;  // |r| <= 0.35.
  double sum = 1.0;
  for (int k = 16; k >= 1; --k) sum = 1.0 + sum * r / k;
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

}  // namespace muster
