#pragma once

// Names of the fields of JSON objects that come by the million, found without a look at each
// letter.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace muster {

static_assert(std::endian::native == std::endian::little, "FieldName counts bytes from the low");

// A field's name as it stands in the file, with the quote that ends it, to be compared 16 bytes at
// once.
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

// Which of the names a key is, or their number. `likely` is where to begin: after the last.
inline std::size_t find_raw(const char* raw, Names names, std::size_t likely) {
  if (likely < names.size() && names[likely].is(raw)) return likely;
  std::size_t which = 0;
  while (which < names.size() && !names[which].is(raw)) ++which;
  return which;
}

inline std::size_t find_name(std::string_view key, Names names) {
  std::size_t which = 0;
  while (which < names.size() && names[which].name != key) ++which;
  return which;
}

}  // namespace muster
