#include "cli/sim/grid_file.h"

#include <gtest/gtest.h>

#include "base/types/testing.h"

namespace muster {
namespace {

std::string refused(std::string_view text) { return error_text(parse_grid(text, "grid.yaml")); }

TEST(GridFile, EveryCombinationIsACellAndTheLastOptionChangesFastest) {
  const Result<Grid> grid = parse_grid(
      "sim:\n"
      "  policy: [fifo, srtf]\n"
      "  cluster: 16x8\n"
      "  seed: 1-3\n",
      "grid.yaml");
  ASSERT_TRUE(grid.ok()) << grid.error().message;
  ASSERT_EQ(grid.value().cells(), 6U);
  using Values = std::vector<std::string_view>;
  EXPECT_EQ(grid.value().cell(0), (Values{"fifo", "16x8", "1"}));
  EXPECT_EQ(grid.value().cell(1), (Values{"fifo", "16x8", "2"}));
  EXPECT_EQ(grid.value().cell(5), (Values{"srtf", "16x8", "3"}));
  EXPECT_EQ(grid.value().axes[2].line, 4);
}

TEST(GridFile, OnlySeedsAreRanges) {
  const Result<Grid> grid = parse_grid("sim:\n  elastic: 1-16\n", "g");
  ASSERT_TRUE(grid.ok());
  EXPECT_EQ(grid.value().axes[0].values, std::vector<std::string>{"1-16"});
}

TEST(GridFile, RefusesWhatIsNoGrid) {
  EXPECT_EQ(refused("sim: [a]"),
            "grid.yaml:1: sim: must be a map from options of muster sim to values");
  EXPECT_EQ(refused("sim:\n  policy: [fifo, fifo]\n"), "grid.yaml:2: policy: given twice: 'fifo'");
  EXPECT_EQ(refused("sim:\n  policy: [[fifo]]\n"), "grid.yaml:2: policy: not a value");
  EXPECT_NE(refused("sims:\n  policy: fifo\n").find("did you mean 'sim'?"), std::string::npos);
  EXPECT_NE(refused("sim:\n  policy: []\n"), "accepted");
  EXPECT_EQ(refused("sim:\n  seed: 1-9999\n  min-run: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]\n"),
            "grid.yaml:3: min-run: more than 100000 cells");
}

}  // namespace
}  // namespace muster
