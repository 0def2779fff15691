#pragma once

// Helper for tests: the examples in docs/reference/formats.md must be valid input.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace muster {

// Returns the YAML example of docs/reference/formats.md that begins with this line. Fails the test
// if there is none.
inline std::string documented(const std::string& first_line) {
  std::ifstream file(std::filesystem::path(__FILE__).parent_path() /
                     "../../../docs/reference/formats.md");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t at = text.find("```yaml\n" + first_line);
  EXPECT_NE(at, std::string::npos);
  if (at == std::string::npos) return "";
  return text.substr(at + 8, text.find("```\n", at + 8) - at - 8);
}

}  // namespace muster
