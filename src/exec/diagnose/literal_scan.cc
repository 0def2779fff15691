#include "exec/diagnose/literal_scan.h"

#include <algorithm>

#include "base/text/text.h"
#include "base/types/check.h"

namespace muster {

LiteralScan::LiteralScan(std::span<const std::string> literals) {
  number_classes(literals);
  next_.assign(classes_, 0);
  ends_.resize(1);
  for (std::size_t i = 0; i < literals.size(); ++i) add(literals[i], static_cast<int>(i));
  link();
}

void LiteralScan::number_classes(std::span<const std::string> literals) {
  std::array<bool, 256> used{};
  for (const std::string& literal : literals) {
    MUSTER_CHECK(!literal.empty() && literal.find('\n') == std::string::npos);
    for (const char c : literal) used[static_cast<unsigned char>(lower(c))] = true;
  }
  for (std::size_t c = 0; c < used.size(); ++c) {
    if (used[c]) class_[c] = static_cast<std::uint8_t>(classes_++);
  }
  for (char c = 'A'; c <= 'Z'; ++c) {
    class_[static_cast<unsigned char>(c)] = class_[static_cast<unsigned char>(lower(c))];
  }
}

void LiteralScan::add(std::string_view literal, int id) {
  State state = 0;
  for (const char c : literal) {
    State& to = next_[state + class_[static_cast<unsigned char>(c)]];
    if (to == 0) {
      const auto fresh = static_cast<State>(next_.size());
      to = fresh;  // Set before the vector grows.
      next_.resize(next_.size() + classes_, 0);
      ends_.emplace_back();
      state = fresh;
    } else {
      state = to;
    }
  }
  ends_[state / classes_].push_back(id);
}

// Breadth first. A missing transition leads to the longest suffix that is a prefix of a literal.
void LiteralScan::link() {
  std::vector<State> back(ends_.size(), 0);
  std::vector<State> order;
  for (std::uint32_t c = 0; c < classes_; ++c) {
    if (next_[c] != 0) order.push_back(next_[c]);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const State state = order[i];
    const State other = back[state / classes_];
    const std::vector<int>& more = ends_[other / classes_];
    std::vector<int>& ends = ends_[state / classes_];
    ends.insert(ends.end(), more.begin(), more.end());
    for (std::uint32_t c = 0; c < classes_; ++c) {
      State& to = next_[state + c];
      if (to == 0) {
        to = next_[other + c];
      } else {
        back[to / classes_] = next_[other + c];
        order.push_back(to);
      }
    }
  }
  MUSTER_CHECK(next_.size() < kEnd);
  for (State& to : next_) {
    if (!ends_[to / classes_].empty()) to |= kEnd;
  }
}

std::size_t LiteralScan::first_end(std::string_view text) const {
  State state = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    state = step(state, text[i]);
    if ((state & kEnd) != 0) return i + 1;
  }
  return std::string_view::npos;
}

void LiteralScan::all(std::string_view text, std::vector<int>& out) const {
  out.clear();
  State state = 0;
  for (const char c : text) {
    state = step(state, c);
    if ((state & kEnd) == 0) continue;
    const std::vector<int>& ends = ends_[(state & ~kEnd) / classes_];
    out.insert(out.end(), ends.begin(), ends.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

}  // namespace muster
