#pragma once

// Cache of the number of finished jobs per state, by question. Valid until another job finishes.
//
// Threads: any. The manager thread calls find() and forget(), the worker calls keep().

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace muster {

class EndedCounts {
 public:
  using StateCounts = std::map<std::string, std::uint64_t>;
  using Question = std::tuple<std::string, std::string, std::string>;  // User, tenant, search.
  static constexpr std::size_t kMaxQuestions = 64;

  struct Found {
    std::optional<StateCounts> counts;
    std::uint64_t generation = 0;  // For keep().
  };
  Found find(const Question& question) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(question);
    if (found == counts_.end()) return {std::nullopt, generation_};
    return {found->second, generation_};
  }

  // Has no effect if forget() was called since find() returned this generation.
  void keep(const Question& question, std::uint64_t generation, StateCounts counts) {
    const std::lock_guard lock(mutex_);
    if (generation != generation_) return;
    if (counts_.size() >= kMaxQuestions) counts_.clear();
    counts_[question] = std::move(counts);
  }

  void forget() {
    const std::lock_guard lock(mutex_);
    counts_.clear();
    ++generation_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<Question, StateCounts> counts_;  // Guarded by mutex_.
  std::uint64_t generation_ = 0;            // Guarded by mutex_.
};

}  // namespace muster
