#include "trace/trace.h"

#include <cstring>
#include <utility>

#include "base/digest.h"

namespace muster {

namespace {

constexpr std::size_t kFirstBuckets = 16;  // A power of two, as every later size.

// Reads whole words, so its value differs between machines; ids never depend on it.
std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL + text.size();
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t taken = text.size() < sizeof(word) ? text.size() : sizeof(word);
    std::memcpy(&word, text.data(), taken);
    hash = Digest::mix(hash ^ word) + 0x9e3779b97f4a7c15ULL;
    text.remove_prefix(taken);
  }
  return hash ^ (hash >> 32);
}

void renumber(std::vector<TraceJob>& jobs, NameTable& table, std::uint32_t TraceJob::*field) {
  NameTable used;
  for (TraceJob& job : jobs) job.*field = used.intern(table[job.*field]);
  table = std::move(used);
}

}  // namespace

NameTable::NameTable() : buckets_(kFirstBuckets, 0) { intern(""); }

std::size_t NameTable::slot_of(std::string_view text) const {
  const std::size_t mask = buckets_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(hash_text(text)) & mask;
  while (buckets_[slot] != 0 && names_[buckets_[slot] - 1] != text) slot = (slot + 1) & mask;
  return slot;
}

std::uint32_t NameTable::intern(std::string_view text) {
  std::size_t slot = slot_of(text);
  if (buckets_[slot] != 0) return buckets_[slot] - 1;
  if (2 * (names_.size() + 1) > buckets_.size()) {
    grow();
    slot = slot_of(text);
  }
  names_.emplace_back(text);
  buckets_[slot] = static_cast<std::uint32_t>(names_.size());
  return buckets_[slot] - 1;
}

std::optional<std::uint32_t> NameTable::find(std::string_view text) const {
  const std::size_t slot = slot_of(text);
  if (buckets_[slot] == 0) return std::nullopt;
  return buckets_[slot] - 1;
}

void NameTable::grow() {
  buckets_.assign(buckets_.size() * 2, 0);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    buckets_[slot_of(names_[i])] = static_cast<std::uint32_t>(i + 1);
  }
}

void renumber_names(Trace& trace) {
  renumber(trace.jobs, trace.models, &TraceJob::model);
  renumber(trace.jobs, trace.users, &TraceJob::user);
  renumber(trace.jobs, trace.tenants, &TraceJob::tenant);
  renumber(trace.jobs, trace.names, &TraceJob::name);
  renumber(trace.jobs, trace.gpu_types, &TraceJob::gpu_type);
}

}  // namespace muster
