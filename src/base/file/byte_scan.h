#pragma once

// Searches for bytes 16 at a time. These are the inner loops of parsers for large files. They read
// whole blocks, so the memory after the text must be readable too.

#include <bit>
#include <cstddef>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace muster {

// Returns a mask: bit i is set if bytes[i] == wanted, for 16 bytes.
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

// Like equal_in_16(), for 64 bytes.
inline std::uint64_t equal_in_64(const char* bytes, char wanted) {
  std::uint64_t bits = 0;
  for (int i = 0; i < 4; ++i)
    bits |= std::uint64_t{equal_in_16(bytes + 16 * i, wanted)} << (16 * i);
  return bits;
}

// Returns the offset of the first `a` or `b` in `text`.
// REQUIRES: there is one, and the 15 bytes after it are readable.
inline std::size_t find_either(const char* text, char a, char b) {
  for (std::size_t at = 0;; at += 16) {
    const std::uint32_t found = equal_in_16(text + at, a) | equal_in_16(text + at, b);
    if (found != 0) return at + static_cast<std::size_t>(std::countr_zero(found));
  }
}

}  // namespace muster
