#include "base/text/name_table.h"

#include <cstring>
#include <utility>

#include "base/types/digest.h"

namespace muster {

namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
constexpr std::size_t kFirstBuckets = 16;  // A power of two, like all later sizes.

// Hashes whole words, so the value depends on the machine. Ids do not depend on it.
std::uint32_t hash_text(std::string_view text) {
  std::uint64_t hash = kOdd + text.size();
  std::uint64_t word = 0;
  for (; text.size() >= sizeof(word); text.remove_prefix(sizeof(word))) {
    std::memcpy(&word, text.data(), sizeof(word));
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 32;
  }
  word = 0;
  if (!text.empty()) std::memcpy(&word, text.data(), text.size());
  return static_cast<std::uint32_t>(Digest::mix(hash ^ word));
}

}  // namespace

NameTable::NameTable() : buckets_(kFirstBuckets) { intern(""); }

std::size_t NameTable::slot_of(std::string_view text, std::uint32_t hash) const {
  const std::size_t mask = buckets_.size() - 1;
  std::size_t slot = hash & mask;
  while (true) {
    const Bucket& bucket = buckets_[slot];
    if (bucket.name == 0) return slot;
    if (bucket.hash == hash && names_[bucket.name - 1] == text) return slot;
    slot = (slot + 1) & mask;
  }
}

std::uint32_t NameTable::intern(std::string_view text) {
  const std::uint32_t hash = hash_text(text);
  std::size_t slot = slot_of(text, hash);
  if (buckets_[slot].name != 0) return buckets_[slot].name - 1;
  if (2 * (names_.size() + 1) > buckets_.size()) {
    grow();
    slot = slot_of(text, hash);
  }
  names_.emplace_back(text);
  buckets_[slot] = {static_cast<std::uint32_t>(names_.size()), hash};
  return buckets_[slot].name - 1;
}

std::optional<std::uint32_t> NameTable::find(std::string_view text) const {
  const std::size_t slot = slot_of(text, hash_text(text));
  if (buckets_[slot].name == 0) return std::nullopt;
  return buckets_[slot].name - 1;
}

void NameTable::expect(std::string_view text) const {
  __builtin_prefetch(&buckets_[hash_text(text) & (buckets_.size() - 1)]);
}

void NameTable::grow() {
  std::vector<Bucket> larger(buckets_.size() * 2);
  const std::size_t mask = larger.size() - 1;
  for (const Bucket& bucket : buckets_) {
    if (bucket.name == 0) continue;
    std::size_t slot = bucket.hash & mask;
    while (larger[slot].name != 0) slot = (slot + 1) & mask;
    larger[slot] = bucket;
  }
  buckets_ = std::move(larger);
}

}  // namespace muster
