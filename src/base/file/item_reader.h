#pragma once

// Takes values out of a document's tree, strictly. It remembers the first thing that is wrong and
// from then on hands out harmless values, so the code that walks a file reads straight down and
// asks failed() once, before it builds anything.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/file/document.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// Both ends belong.
struct Bounds {
  double low;
  double high;
};

class ItemReader {
 public:
  explicit ItemReader(std::string file) : file_(std::move(file)) {}

  bool failed() const { return refusal_.has_value(); }
  // Only when failed(): "FILE:LINE: field: fact: 'culprit'".
  const Error& error() const { return *refusal_; }

  // "FILE:LINE: field", for notes.
  std::string at(const Item& item) const;

  // Refuses with the given words at the item's line, unless something was refused before.
  void refuse(const Item& item, std::string_view why);

  // Refuses anything but a map, and a map with other keys than these.
  void allow_keys(const Item& map, std::span<const std::string_view> known);

  // A member that must be there; an empty item when it is not.
  const Item& member(const Item& map, std::string_view key);
  // One that must be a list and hold something.
  const Item& list(const Item& map, std::string_view key);
  void expect_list(const Item& item);

  double number(const Item& item, Bounds bounds);
  std::int64_t whole(const Item& item, Bounds bounds);
  // A word for people and tables: letters, digits and . _ - + : / only, at most 64.
  std::string name(const Item& item);
  void check_name(const Item& item, std::string_view word);
  // Text of one line, not empty: a path, or what somebody else will read.
  std::string line(const Item& item);
  bool flag(const Item& item);  // "true" or "false".
  // "300s", "5m", "2h"; both ends belong.
  Duration duration(const Item& item, Duration least, Duration most);

  // The same for a member that may be left out.
  double number_or(const Item& map, std::string_view key, Bounds bounds, double fallback);
  std::int64_t whole_or(const Item& map, std::string_view key, Bounds bounds,
                        std::int64_t fallback);
  std::string name_or(const Item& map, std::string_view key, std::string_view fallback);

 private:
  std::string file_;
  Refusal refusal_;
};

}  // namespace muster
