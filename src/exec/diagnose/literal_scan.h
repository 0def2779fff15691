#pragma once

// Finds which of many short texts stand in a long one, whatever their case, in one look at each
// byte (Aho and Corasick's automaton). It is the first pass over logs of any size: lines without a
// literal need no more work.

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
  // The literals: small letters, not empty, without line breaks.
  explicit LiteralScan(std::span<const std::string> literals);

  // Where the first literal in the text ends, or npos.
  std::size_t first_end(std::string_view text) const;

  // The literals in the text, ascending, each once; `out` is cleared first.
  void all(std::string_view text, std::vector<int>& out) const;

 private:
  using State = std::uint32_t;

  // Set in a step that ends a literal.
  static constexpr State kEnd = State{1} << 31U;

  State step(State state, char byte) const {
    return next_[(state & ~kEnd) + class_[static_cast<unsigned char>(byte)]];
  }
  void number_classes(std::span<const std::string> literals);
  void add(std::string_view literal, int id);
  void link();

  std::array<std::uint8_t, 256> class_{};  // Bytes that no literal tells apart share one.
  std::uint32_t classes_ = 1;
  // A state is the index of its row, so that a step is one sum and one look-up.
  std::vector<State> next_;
  std::vector<std::vector<int>> ends_;  // By row: the literals that end there.
};

}  // namespace muster
