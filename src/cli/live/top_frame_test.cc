#include "cli/live/top_frame.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text/wording.h"

namespace muster {
namespace {

using Json = nlohmann::json;

TopData data_of(std::size_t running, std::size_t waiting) {
  TopData data;
  for (std::size_t i = 0; i < running; ++i) {
    data.jobs.push_back({{"id", 1000 + i}, {"name", "r"}, {"state", "running"}, {"gpus", 1}});
  }
  for (std::size_t i = 0; i < waiting; ++i) {
    data.jobs.push_back({{"id", 5000 + i}, {"name", "w"}, {"state", "queued"}, {"gpus", 1}});
  }
  data.active = data.jobs.size() + 7;
  return data;
}

bool shows(const std::vector<std::string>& lines, std::size_t id) {
  for (const std::string& line : lines) {
    if (line.find(std::to_string(id)) != std::string::npos) return true;
  }
  return false;
}

TEST(TopFrame, FitsAnyScreen) {
  for (const std::size_t running : {0U, 1U, 10U, 100U}) {
    for (const std::size_t waiting : {0U, 1U, 10U, 100U}) {
      const TopData data = data_of(running, waiting);
      for (std::size_t height = 0; height < 60; ++height) {
        TopView view{33, height, 1'000'000, ColorMode::kPlain};
        const std::vector<std::string> lines = top_lines(data, view);
        ASSERT_LE(lines.size(), height);
        for (const std::string& line : lines) ASSERT_LE(display_width(line), 33U);
        ASSERT_LE(view.scroll, running + waiting);
      }
    }
  }
}

TEST(TopFrame, ScrollingShowsEveryJobOnce) {
  const TopData data = data_of(40, 30);
  TopView view{80, 20, 0, ColorMode::kPlain};
  std::set<std::size_t> seen;
  for (std::size_t scroll = 0;; ++scroll) {
    view.scroll = scroll;
    const std::vector<std::string> lines = top_lines(data, view);
    for (std::size_t i = 0; i < 40; ++i) {
      if (shows(lines, 1000 + i)) seen.insert(1000 + i);
    }
    for (std::size_t i = 0; i < 30; ++i) {
      if (shows(lines, 5000 + i)) seen.insert(5000 + i);
    }
    EXPECT_TRUE(shows(lines, 5000) || scroll > 0);  // The next job to start is visible at first.
    if (view.scroll < scroll) break;
  }
  EXPECT_EQ(seen.size(), 70U);
}

TEST(TopFrame, CutsColoredLinesByWhatIsSeen) {
  TopView view{26, 24, 0, ColorMode::kColor};
  const std::vector<std::string> lines = top_lines(data_of(1, 0), view);
  const std::string row = lines[4];
  EXPECT_NE(row.find("\x1b[32m"), std::string::npos) << row;
  EXPECT_TRUE(row.find("\x1b[0m") != std::string::npos) << row;
}

}  // namespace
}  // namespace muster
