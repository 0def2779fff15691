#pragma once

// A table of enumerator names, for lookups in both directions. The enumerators must be 0, 1, 2, ...
// up to kLast. A table of another length does not compile.
//
//     constexpr EnumNames<Fruit, Fruit::kPear> kFruitNames({"apple", "pear"});
//     kFruitNames[Fruit::kPear]     "pear"
//     kFruitNames.find("apple")     Fruit::kApple

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/types/check.h"

namespace muster {

template <class Enum, Enum kLast>
class EnumNames {
 public:
  static constexpr std::size_t kCount = static_cast<std::size_t>(kLast) + 1;

  // `names` must be in the order of the enumerators.
  template <std::size_t kGiven>
  explicit constexpr EnumNames(const std::string_view (&names)[kGiven]) {
    static_assert(kGiven == kCount, "one name per enumerator");
    for (std::size_t i = 0; i < kCount; ++i) names_[i] = names[i];
  }

  std::string_view operator[](Enum value) const {
    const auto row = static_cast<std::size_t>(value);
    MUSTER_CHECK(row < kCount);
    return names_[row];
  }

  // Returns the first enumerator with this name, or nullopt. O(n) for n names.
  std::optional<Enum> find(std::string_view name) const {
    for (std::size_t i = 0; i < kCount; ++i) {
      if (names_[i] == name) return static_cast<Enum>(i);
    }
    return std::nullopt;
  }

 private:
  std::array<std::string_view, kCount> names_;
};

}  // namespace muster
