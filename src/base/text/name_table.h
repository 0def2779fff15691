#pragma once

// Maps strings to dense ids.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// Assigns a dense id to each distinct string, in the order of the first intern(). Id 0 is always
// "", so an unset field reads as the empty string. Iteration is by id and never depends on the
// hash.
class NameTable {
 public:
  NameTable();

  // Returns the id of the string and adds it if it is new. O(1) on average.
  std::uint32_t intern(std::string_view text);
  std::optional<std::uint32_t> find(std::string_view text) const;
  // Prefetches the memory that an intern() of the same string will read soon. Useful for tables
  // that are larger than the cache.
  void expect(std::string_view text) const;
  const std::string& operator[](std::uint32_t id) const { return names_[id]; }
  std::size_t size() const { return names_.size(); }  // Includes the "" of id 0.

  friend bool operator==(const NameTable& a, const NameTable& b) { return a.names_ == b.names_; }

 private:
  // Bucket of a hash table with open addressing. It stores the hash, so that a lookup reads a name
  // from memory only if the hashes match.
  struct Bucket {
    std::uint32_t name = 0;  // 0: empty; otherwise id + 1.
    std::uint32_t hash = 0;
  };
  // Returns the bucket that has the string, or the free bucket where it belongs.
  std::size_t slot_of(std::string_view text, std::uint32_t hash) const;
  void grow();

  std::vector<std::string> names_;
  std::vector<Bucket> buckets_;
};

}  // namespace muster
