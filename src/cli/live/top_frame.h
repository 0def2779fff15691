#pragma once

// What `muster top` shows, as lines of text: a function of what the manager said last and the size
// of the screen.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/terminal/terminal.h"

namespace muster {

struct TopData {
  std::vector<nlohmann::json> jobs;  // Active ones, sorted: all that run, and who waits first.
  std::uint64_t active = 0;          // How many there are in all.
  std::vector<nlohmann::json> nodes;
  std::string where;    // The manager.
  std::string trouble;  // Why this is not news, or empty.
  double at = 0;        // When it was, in seconds since 1970.
};

struct TopView {
  std::size_t width = 80;  // 0: as wide as it takes.
  std::size_t height = 24;
  std::size_t scroll = 0;  // Rows of running jobs, then of waiting ones; brought within bounds.
  Ink ink = Ink::kPlain;
};

// No more than `view.height` lines.
std::vector<std::string> top_lines(const TopData& data, TopView& view);

}  // namespace muster
