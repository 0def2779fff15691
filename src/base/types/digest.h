#pragma once

// A 64-bit hash of a sequence of numbers. Two runs that make the same decisions in the same order
// have the same digest, with any compiler. Not cryptographic.

#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

class Digest {
 public:
  void add(std::uint64_t word) { state_ = mix(state_ ^ mix(word + 0x9e3779b97f4a7c15ULL)); }
  void add(std::int64_t word) { add(static_cast<std::uint64_t>(word)); }
  void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
  std::uint64_t value() const { return state_; }
  std::string hex() const;

  // The finalizer of splitmix64: every input bit affects every output bit.
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }

 private:
  std::uint64_t state_ = 0x6d75737465720001ULL;
};

}  // namespace muster
