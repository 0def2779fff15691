#include "study/page/plot_svg.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace muster {
namespace {

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(PlotSvg, DrawsALineForEachSeriesAndEscapesTexts) {
  Plot plot;
  plot.key = "load";
  plot.title = "A < B";
  plot.series = {{"fifo", {1, 2, 3}, {10, 20, 15}}, {"tune & co", {1, 2, 3}, {5, 6, 7}}};
  const std::string svg = plot_svg(plot);
  EXPECT_EQ(occurrences(svg, "class=\"line\""), 2u);
  EXPECT_NE(svg.find("A &lt; B"), std::string::npos);
  EXPECT_NE(svg.find("tune &amp; co"), std::string::npos);
  EXPECT_EQ(svg, plot_svg(plot));
}

TEST(PlotSvg, OmitsBarsWithoutAValue) {
  Plot plot;
  plot.key = "bars";
  plot.kind = Plot::Kind::kBars;
  plot.categories = {"one", "two"};
  plot.series = {{"a", {}, {1, std::numeric_limits<double>::quiet_NaN()}}};
  const std::string svg = plot_svg(plot);
  EXPECT_EQ(occurrences(svg, "<rect"), 2u) << "one bar and its mark in the legend";
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(PlotSvg, DrawsAnEmptyPlot) { EXPECT_NE(plot_svg(Plot()).find("</svg>"), std::string::npos); }

}  // namespace
}  // namespace muster
