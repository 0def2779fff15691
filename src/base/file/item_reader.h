#pragma once

// Strict reader for the values of a document's tree. It records the first error and returns
// harmless values after it. Callers therefore read a whole file and check failed() once before they
// use it.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/file/document.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// A range that includes both ends.
struct Bounds {
  double low;
  double high;
};

class ItemReader {
 public:
  explicit ItemReader(std::string file) : file_(std::move(file)) {}

  bool failed() const { return refusal_.has_value(); }
  // "FILE:LINE: field: message: 'value'". REQUIRES: failed().
  const Error& error() const { return *refusal_; }

  // Returns "FILE:LINE: field", for notes.
  std::string at(const Item& item) const;

  // Records the error `why` at the item's line, unless there is an earlier error.
  void refuse(const Item& item, std::string_view why);

  // Records an error unless the item is a map and all its keys are in `known`.
  void allow_keys(const Item& map, std::span<const std::string_view> known);

  // Returns a required member, or records an error and returns an empty item.
  const Item& member(const Item& map, std::string_view key);
  // Returns a required member that must be a non-empty list.
  const Item& list(const Item& map, std::string_view key);
  void expect_list(const Item& item);

  double number(const Item& item, Bounds bounds);
  std::int64_t whole(const Item& item, Bounds bounds);
  // A human-readable name: up to 64 letters, digits and . _ - + : /.
  std::string name(const Item& item);
  void check_name(const Item& item, std::string_view word);
  // Non-empty text on one line, such as a path.
  std::string line(const Item& item);
  bool flag(const Item& item);  // "true" or "false".
  // "300s", "5m", "2h"; from `least` to `most`, inclusive.
  Duration duration(const Item& item, Duration least, Duration most);

  // The same for an optional member; `fallback` if it is missing.
  double number_or(const Item& map, std::string_view key, Bounds bounds, double fallback);
  std::int64_t whole_or(const Item& map, std::string_view key, Bounds bounds,
                        std::int64_t fallback);
  std::string name_or(const Item& map, std::string_view key, std::string_view fallback);

 private:
  std::string file_;
  MaybeError refusal_;
};

}  // namespace muster
