#pragma once

// Formats the screen of `muster top` as lines of text, from the manager's last answer and the size
// of the screen.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/terminal/terminal.h"

namespace muster {

struct TopData {
  std::vector<nlohmann::json> jobs;  // Active jobs: running jobs first, then the queue in order.
  std::uint64_t active = 0;          // Number of active jobs; may exceed jobs.size().
  std::vector<nlohmann::json> nodes;
  std::string where;    // Address of the manager.
  std::string trouble;  // Why the data could not be updated; empty: it is current.
  double at = 0;        // Time of the answer, in seconds since 1970.
};

struct TopView {
  std::size_t width = 80;  // In columns. 0: unlimited.
  std::size_t height = 24;
  std::size_t scroll = 0;  // Rows to skip: first running jobs, then waiting jobs.
  ColorMode colors = ColorMode::kPlain;
};

// Returns at most `view.height` lines. Limits `view.scroll` to the number of hidden rows.
std::vector<std::string> top_lines(const TopData& data, TopView& view);

}  // namespace muster
