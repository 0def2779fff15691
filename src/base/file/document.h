#pragma once

// A YAML or JSON file as a plain tree that remembers its lines, so that whoever walks it can say
// where something is wrong. JSON needs no reader of its own: it is YAML in flow style.
//
// What the tree promises: no control characters but line breaks and tabs, whether written as they
// are or as escapes; keys that are given once; no aliases, anchors or tags; bounded depth and size.
// Numbers stay text until somebody asks for one.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

inline constexpr std::size_t kMostFileBytes = 16U << 20U;
inline constexpr std::size_t kMostDepth = 32;
inline constexpr std::size_t kMostItems = 500'000;
inline constexpr std::size_t kMostKeys = 1'000;  // In one map.

struct Item {
  enum class Kind : std::uint8_t { kEmpty, kText, kList, kMap };

  Kind kind = Kind::kEmpty;
  int line = 1;             // Where the key stands, or the item itself when it has none.
  std::string key;          // In a map its key, in a list that of the list; empty at the top.
  std::string text;         // For kText.
  std::vector<Item> items;  // For kList and kMap, as written.

  // The member of a map, or null.
  const Item* find(std::string_view member) const;
};

// Whether a file that holds nothing, or remarks alone, is refused, or read as an item of kEmpty.
enum class IfEmpty : std::uint8_t { kRefuse, kAccept };

// Reads the whole file.
Result<Item> read_document(const std::string& path, IfEmpty if_empty = IfEmpty::kRefuse);

// The same from memory; `name` stands for the file in messages.
Result<Item> parse_document(std::string_view text, const std::string& name,
                            IfEmpty if_empty = IfEmpty::kRefuse);

// A path as messages show it: as it is, or quoted when it has unprintable bytes.
std::string shown_path(const std::string& path);

}  // namespace muster
