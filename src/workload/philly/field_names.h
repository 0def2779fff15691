#pragma once

// Fast lookup of JSON field names for logs with millions of objects. philly_job.cc uses it.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace muster {

static_assert(std::endian::native == std::endian::little, "FieldName counts bytes from the low");

// A field name with its closing quote, as in the file. is() compares all of it in two words of 8
// bytes, so it reads 16 bytes from `raw`.
struct FieldName {
  consteval FieldName(const char* text) : name(text) {  // NOLINT: implicit, for the lists below.
    for (std::size_t i = 0; i <= name.size(); ++i) {
      const char c = i < name.size() ? name[i] : '"';
      bytes[i / 8] |= std::uint64_t{static_cast<unsigned char>(c)} << (8 * (i % 8));
      mask[i / 8] |= std::uint64_t{0xff} << (8 * (i % 8));
    }
  }
  bool is(const char* raw) const {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::memcpy(&low, raw, 8);
    std::memcpy(&high, raw + 8, 8);
    return (((low ^ bytes[0]) & mask[0]) | ((high ^ bytes[1]) & mask[1])) == 0;
  }

  std::string_view name;  // At most 15 characters.
  std::array<std::uint64_t, 2> bytes = {};
  std::array<std::uint64_t, 2> mask = {};
};

using Names = std::span<const FieldName>;

// Returns the index of the key that begins at `raw`, or names.size() if there is none. Tries the
// index `likely` first; callers pass the one after the previous key.
inline std::size_t find_raw(const char* raw, Names names, std::size_t likely) {
  if (likely < names.size() && names[likely].is(raw)) return likely;
  std::size_t which = 0;
  while (which < names.size() && !names[which].is(raw)) ++which;
  return which;
}

// Like find_raw(), for a key without escapes and quotes.
inline std::size_t find_name(std::string_view key, Names names) {
  std::size_t which = 0;
  while (which < names.size() && names[which].name != key) ++which;
  return which;
}

}  // namespace muster
