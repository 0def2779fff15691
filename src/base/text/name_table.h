#pragma once

// Dense ids for texts.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// Hands out a dense id for each distinct text, in order of first sight. Id 0 is always "", so a
// field nobody filled in reads as the empty text. Iteration is by id, never by hash order.
class NameTable {
 public:
  NameTable();

  std::uint32_t intern(std::string_view text);
  std::optional<std::uint32_t> find(std::string_view text) const;
  // Has the memory for an intern() that comes soon fetched meanwhile. Pays in large tables, whose
  // places are far from each other.
  void expect(std::string_view text) const;
  const std::string& operator[](std::uint32_t id) const { return names_[id]; }
  std::size_t size() const { return names_.size(); }  // With the "" of id 0.

  friend bool operator==(const NameTable& a, const NameTable& b) { return a.names_ == b.names_; }

 private:
  // Of a table with open addressing. The hash stands beside the name's number so that names, which
  // lie all over memory, are looked at only where they are most likely the right ones.
  struct Bucket {
    std::uint32_t name = 0;  // 0: empty; otherwise id + 1.
    std::uint32_t hash = 0;
  };
  // Where it is, or where it would go.
  std::size_t slot_of(std::string_view text, std::uint32_t hash) const;
  void grow();

  std::vector<std::string> names_;
  std::vector<Bucket> buckets_;
};

}  // namespace muster
