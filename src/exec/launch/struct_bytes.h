#pragma once

// Converts structs of integers to little-endian bytes of a fixed size and back. A struct lists its
// members in a function template fields(f), which calls f(member, ...) once. A member is an
// integer, an enumeration, such a struct, or a std::array of these. There is no padding.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

namespace muster {

using ByteSpan = std::span<const std::uint8_t>;

// Calls visit(integer) for each integer of the value, in order.
template <class T, class Visit>
constexpr void for_each_integer(T& value, Visit visit) {
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    visit(value);
  } else if constexpr (requires { value.size(); }) {
    for (auto& element : value) for_each_integer(element, visit);
  } else {
    value.fields([&visit](auto&... members) { (for_each_integer(members, visit), ...); });
  }
}

template <class T>
constexpr std::size_t packed_size() {
  T value{};
  std::size_t size = 0;
  for_each_integer(value, [&size](const auto& integer) { size += sizeof integer; });
  return size;
}

template <class T>
std::array<std::uint8_t, packed_size<T>()> pack(T value) {
  std::array<std::uint8_t, packed_size<T>()> bytes{};
  std::size_t at = 0;
  for_each_integer(value, [&](const auto& integer) {
    const auto bits = static_cast<std::uint64_t>(integer);
    for (std::size_t i = 0; i < sizeof integer; ++i)
      bytes[at++] = static_cast<std::uint8_t>(bits >> (8 * i));
  });
  return bytes;
}

// Returns nullopt unless there are exactly packed_size<T>() bytes. Does not check any value.
template <class T>
std::optional<T> unpack(ByteSpan bytes) {
  if (bytes.size() != packed_size<T>()) return std::nullopt;
  T value{};
  std::size_t at = 0;
  for_each_integer(value, [&](auto& integer) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof integer; ++i) bits |= std::uint64_t{bytes[at++]} << (8 * i);
    integer = static_cast<std::remove_reference_t<decltype(integer)>>(bits);
  });
  return value;
}

}  // namespace muster
