#pragma once

// Helpers for tests of functions that read or return text: tables of inputs with expected texts,
// and randomly damaged input. Tests of all modules can use it.

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/types/random.h"
#include "base/types/result.h"

namespace muster {

// The error message of a result, or "accepted" if there is none.
template <class T>
std::string error_text(const Result<T>& result) {
  return result.ok() ? "accepted" : result.error().message;
}
inline std::string error_text(const MaybeError& refusal) {
  return refusal ? refusal->message : "accepted";
}

// `text` with its first `from` replaced by `to`. Fails the test if there is no `from`.
inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const std::size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? out : out.replace(at, from.size(), to);
}

struct TextCase {
  std::string input;
  std::string expected;
};

// Expects that `function` returns the expected text for the input of each row.
template <class Function>
void expect_texts(Function&& function, std::initializer_list<TextCase> rows) {
  for (const TextCase& row : rows)
    EXPECT_EQ(function(row.input), row.expected) << row.input.substr(0, 200);
}

// Expects that the text `function` returns begins with the expected text, for each row.
template <class Function>
void expect_beginnings(Function&& function, std::initializer_list<TextCase> rows) {
  for (const TextCase& row : rows) {
    EXPECT_EQ(function(row.input).substr(0, row.expected.size()), row.expected) << row.input;
  }
}

// Expects that `function` returns the expected text for `text` after one edit. A row's input is the
// edit, "from -> to": the first `from` is replaced by `to`.
template <class Function>
void expect_edits(std::string_view text, Function&& function,
                  std::initializer_list<TextCase> rows) {
  constexpr std::string_view kArrow = " -> ";
  for (const TextCase& row : rows) {
    const std::size_t at = row.input.find(kArrow);
    ASSERT_NE(at, std::string::npos) << row.input;
    const std::string to = row.input.substr(at + kArrow.size());
    EXPECT_EQ(function(replaced(text, row.input.substr(0, at), to)), row.expected) << row.input;
  }
}

// `text` after one to `max_changes` random changes: bytes overwritten with any byte or one of
// `characters`, characters inserted, parts removed or repeated.
inline std::string damaged(std::string text, Random& random, std::uint64_t max_changes,
                           std::string_view characters) {
  const std::uint64_t changes = 1 + random.below(max_changes);
  for (std::uint64_t i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t at = random.below(text.size());
    switch (random.below(5)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text[at] = characters[random.below(characters.size())];
        break;
      case 2:
        text.insert(at, 1, characters[random.below(characters.size())]);
        break;
      case 3:
        text.erase(at, 1 + random.below(20));
        break;
      default:
        text.insert(at, text.substr(random.below(text.size()), random.below(60)));
        break;
    }
  }
  return text;
}

}  // namespace muster
