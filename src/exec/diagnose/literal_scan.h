#pragma once

// Finds which of many literals occur in a text, ignoring case (Aho-Corasick). Reads each byte once.
// It is the first scan of a log: lines without a literal need no further work.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

class LiteralScan {
 public:
  // REQUIRES: the literals are lowercase, not empty and without line breaks.
  explicit LiteralScan(std::span<const std::string> literals);

  // Returns the end of the first literal in the text, or npos.
  std::size_t first_end(std::string_view text) const;

  // Sets `out` to the indices of the literals in the text, ascending and without duplicates.
  void all(std::string_view text, std::vector<int>& out) const;

 private:
  using State = std::uint32_t;

  // Flag of a transition that completes a literal.
  static constexpr State kEnd = State{1} << 31U;

  State step(State state, char byte) const {
    return next_[(state & ~kEnd) + class_[static_cast<unsigned char>(byte)]];
  }
  void number_classes(std::span<const std::string> literals);
  void add(std::string_view literal, int id);
  void link();

  std::array<std::uint8_t, 256> class_{};  // Bytes that no literal distinguishes share a class.
  std::uint32_t classes_ = 1;
  // A state is the index of its row, so that a step is one addition and one lookup.
  std::vector<State> next_;
  std::vector<std::vector<int>> ends_;  // By row: the literals that end there.
};

}  // namespace muster
