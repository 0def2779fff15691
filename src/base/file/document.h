#pragma once

// Parses a YAML or JSON file into a tree of items with line numbers, so that callers can report
// where an error is. JSON needs no separate parser, because it is YAML in flow style.
//
// The tree has no control characters except line breaks and tabs, no duplicate keys, no aliases, no
// anchors and no tags. Its depth and size are bounded. Numbers stay text until ItemReader parses
// them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

inline constexpr std::size_t kMaxFileBytes = 16U << 20U;
inline constexpr std::size_t kMaxDocumentDepth = 32;
inline constexpr std::size_t kMaxItems = 500'000;  // In one file.
inline constexpr std::size_t kMaxKeys = 1'000;     // In one map.

struct Item {
  enum class Kind : std::uint8_t { kEmpty, kText, kList, kMap };

  Kind kind = Kind::kEmpty;
  int line = 1;      // Line of the key, or of the item itself if it has no key.
  std::string key;   // In a map: its key. In a list: the key of the list. Empty for the root.
  std::string text;  // For kText.
  std::vector<Item> items;  // For kList and kMap, in file order.

  // Returns the member of a map, or null.
  const Item* find(std::string_view member) const;
};

// Whether a file without content, or with comments only, is an error or an item of kind kEmpty.
enum class IfEmpty : std::uint8_t { kRefuse, kAccept };

// Reads and parses a file. An error message begins with the path, and the line if there is one.
Result<Item> read_document(const std::string& path, IfEmpty if_empty = IfEmpty::kRefuse);

// Like read_document(), for text in memory. Error messages show `name` as the file.
Result<Item> parse_document(std::string_view text, const std::string& name,
                            IfEmpty if_empty = IfEmpty::kRefuse);

// Returns the path for use in messages: unchanged, or quoted if it has unprintable bytes.
std::string shown_path(const std::string& path);

}  // namespace muster
