#pragma once

// Parses decimal numbers eight digits at a time, for files of several gigabytes. Testing each digit
// for the end of the number would take more time than all other work.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace muster {

static_assert(std::endian::native == std::endian::little, "EightDigits has the first digit lowest");

class EightDigits {
 public:
  // Reads exactly eight bytes, which can have any value.
  explicit EightDigits(const char* text) {
    std::memcpy(&word_, text, sizeof(word_));
    word_ ^= 0x3030303030303030ULL;  // Digits become 0 to 9, all other bytes larger values.
    const std::uint64_t others = ((word_ + 0x7676767676767676ULL) | word_) & 0x8080808080808080ULL;
    count_ = others == 0 ? 8 : std::countr_zero(others) / 8;
  }

  int count() const { return count_; }  // Number of leading digits, 0 to 8.

  // Value of the leading digits. REQUIRES: count() > 0.
  std::uint64_t whole() const { return value_of(word_ << (8 * (8 - count_))); }
  // Value of the leading digits, padded with zeros on the right to eight digits.
  std::uint64_t padded() const {
    return count_ == 0 ? 0 : value_of(word_ & (~std::uint64_t{0} >> (8 * (8 - count_))));
  }

 private:
  // Value of eight bytes with one digit each. Combines pairs, then groups of four, then both
  // halves.
  static std::uint64_t value_of(std::uint64_t word) {
    constexpr std::uint64_t kHalves = 0x000000ff000000ffULL;
    word = word * 10 + (word >> 8);
    return ((word & kHalves) * (100 + (1'000'000ULL << 32)) +
            (word >> 16 & kHalves) * (1 + (10'000ULL << 32))) >>
           32;
  }

  std::uint64_t word_ = 0;
  int count_ = 0;
};

}  // namespace muster
