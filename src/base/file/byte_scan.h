#pragma once

// Looking for bytes many at a time: the inner loops of cutting large texts apart. Reads whole
// blocks, so the text must have bytes to read after it.

#include <bit>
#include <cstddef>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace muster {

// Bit i: byte i of the 16 is the wanted one.
inline std::uint32_t equal_in_16(const char* bytes, char wanted) {
#ifdef __SSE2__
  const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  return static_cast<std::uint32_t>(
      _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8(wanted))));
#else
  std::uint32_t bits = 0;
  for (int i = 0; i < 16; ++i) bits |= std::uint32_t{bytes[i] == wanted} << i;
  return bits;
#endif
}

// The same of 64.
inline std::uint64_t equal_in_64(const char* bytes, char wanted) {
  std::uint64_t bits = 0;
  for (int i = 0; i < 4; ++i)
    bits |= std::uint64_t{equal_in_16(bytes + 16 * i, wanted)} << (16 * i);
  return bits;
}

// Bytes before the first that is one of the two. There must be one, and 15 bytes to read after it.
inline std::size_t find_either(const char* text, char a, char b) {
  for (std::size_t at = 0;; at += 16) {
    const std::uint32_t found = equal_in_16(text + at, a) | equal_in_16(text + at, b);
    if (found != 0) return at + static_cast<std::size_t>(std::countr_zero(found));
  }
}

}  // namespace muster
