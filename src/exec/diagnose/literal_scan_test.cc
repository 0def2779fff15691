#include "exec/diagnose/literal_scan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/types/random.h"

namespace muster {
namespace {

std::string small_letters(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

std::vector<int> naive(const std::vector<std::string>& literals, const std::string& text) {
  std::vector<int> out;
  for (std::size_t i = 0; i < literals.size(); ++i) {
    if (small_letters(text).find(literals[i]) != std::string::npos) {
      out.push_back(static_cast<int>(i));
    }
  }
  return out;
}

std::size_t naive_first_end(const std::vector<std::string>& literals, const std::string& text) {
  std::size_t best = std::string::npos;
  for (const std::string& literal : literals) {
    const std::size_t at = small_letters(text).find(literal);
    if (at != std::string::npos) best = std::min(best, at + literal.size());
  }
  return best;
}

TEST(LiteralScan, FindsWhatANaiveSearchFinds) {
  Random random(7);
  for (int round = 0; round < 2'000; ++round) {
    const auto word = [&](int most) {
      std::string out;
      const auto size = 1 + random.below(static_cast<std::uint64_t>(most));
      for (std::uint64_t i = 0; i < size; ++i) out += "abcABC\xff\n"[random.below(8)];
      return out;
    };
    std::vector<std::string> literals;
    for (int i = 0; i < 6; ++i) {
      std::string literal = small_letters(word(4));
      std::erase(literal, '\n');
      const bool known = std::find(literals.begin(), literals.end(), literal) != literals.end();
      if (!literal.empty() && !known) literals.push_back(literal);
    }
    const LiteralScan scan(literals);
    const std::string text = word(20);
    std::vector<int> got = {99};
    scan.all(text, got);
    EXPECT_EQ(got, naive(literals, text)) << text;
    EXPECT_EQ(scan.first_end(text), naive_first_end(literals, text)) << text;
  }
}

TEST(LiteralScan, WithoutLiteralsFindsNothing) {
  const LiteralScan scan({});
  std::vector<int> got;
  scan.all("any text", got);
  EXPECT_TRUE(got.empty());
  EXPECT_EQ(scan.first_end("any text"), std::string::npos);
}

}  // namespace
}  // namespace muster
