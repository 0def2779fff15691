#include "study/page/curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "base/text/wording.h"

namespace muster {
namespace {

// Speed by CPUs as a job has it that is bound by them up to six.
CurvePlot speed_curve() {
  CurvePlot plot;
  plot.title = "resnet50: speed by CPUs";
  plot.x_label = "CPUs";
  plot.y_label = "steps a second";
  const auto speed = [](double cpus) { return 11.8 * (1 - std::exp(-cpus / 2.6)); };
  for (const double cpus : {1.0, 3.0, 6.0, 12.0, 24.0}) {
    plot.points.push_back({cpus, speed(cpus) * (cpus == 3 ? 1.06 : 0.99), 0.15 + 0.03 * cpus});
  }
  for (double cpus = 0.5; cpus <= 24; cpus += 0.25) plot.line.push_back({cpus, speed(cpus)});
  plot.marks = {{6, "need: 6 CPUs, 11.2 steps a second"}};
  return plot;
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

void expect_small(const std::string& text) {
  ASSERT_TRUE(text.ends_with('\n'));
  const std::string_view lines = std::string_view(text).substr(0, text.size() - 1);
  EXPECT_LE(split(lines, '\n').size(), 14U) << text;
  for (const std::string_view line : split(lines, '\n')) {
    EXPECT_LE(display_width(line), 70U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

TEST(CurveText, ShowsPointsLineAndMarks) {
  const std::string text = curve_text(speed_curve(), ColorMode::kPlain);
  expect_small(text);
  EXPECT_EQ(count(text, "●"), 5U);
  EXPECT_GT(count(text, "·"), 40U);
  EXPECT_EQ(count(text, "┊"), 7U + 1);  // A point and its error hide two; the caption has one.
  EXPECT_TRUE(text.starts_with("resnet50: speed by CPUs\nsteps a second\n")) << text;
  EXPECT_TRUE(text.ends_with(" CPUs\n")) << text;
  EXPECT_NE(text.find("┊ need: 6 CPUs, 11.2 steps a second"), text.npos);
  EXPECT_EQ(text.find('\x1b'), text.npos);
}

TEST(CurveText, ColorIsAllThatInkAdds) {
  std::string text = curve_text(speed_curve(), ColorMode::kColor);
  EXPECT_NE(text.find("\x1b[32m●\x1b[0m"), text.npos);
  for (std::size_t at = text.find('\x1b'); at != text.npos; at = text.find('\x1b')) {
    text.erase(at, text.find('m', at) - at + 1);
  }
  EXPECT_EQ(text, curve_text(speed_curve(), ColorMode::kPlain));
}

TEST(CurveText, PointsStandWhereTheAxesSay) {
  CurvePlot plot;
  plot.points = {{0, 0, 0}, {10, 4, 0}};
  plot.x_label = "x";
  const std::string text = curve_text(plot, ColorMode::kPlain);
  const auto lines = split(text, '\n');
  EXPECT_TRUE(lines[0].starts_with("4 ┤")) << text;
  EXPECT_TRUE(lines[0].ends_with("●")) << text;
  EXPECT_EQ(display_width(lines[0]), 70U);
  EXPECT_EQ(lines[8], "0 ┤●");
  EXPECT_TRUE(lines[10].ends_with(" 10")) << text;
}

// Invalid input is clipped or omitted.
std::vector<CurvePlot> odd_curves() {
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<CurvePlot> plots(7);
  plots[1].points = {{nan, 1, 0}, {1, inf, 0}, {1, 1e300, 0}};
  plots[2].points = {{3, 5, 0}};
  plots[3].points = {{3, 5, 100}, {3, 5, inf}, {3, 5, -1}};
  plots[3].line = {{1, 1}, {1, 2}, {1, 3}};
  plots[4].points = {{-5, -3, 1}, {5, 1e-14, 0}};
  plots[4].line = {{-5, 1'234'567}, {5, -9}};
  plots[4].marks = {{nan, "no"}, {900, "far"}, {-900, "away"}};
  plots[5].points = {{1e15, 1e15, 0}, {1, 1e-12, 0}};
  plots[6] = speed_curve();
  const std::string wild = "<b>\"a\" & 'b'</b>\x1b[31m\xff\n宽宽宽 " + std::string(300, 'w');
  plots[6].title = plots[6].x_label = plots[6].y_label = wild;
  plots[6].marks = {{1, wild}, {2, wild}, {3, "c"}, {24, "the end of it all is here"}};
  return plots;
}

TEST(CurveText, TakesOddNumbersAndTexts) {
  for (const CurvePlot& plot : odd_curves()) {
    const std::string text = curve_text(plot, ColorMode::kPlain);
    expect_small(text);
    EXPECT_EQ(text.find('\x1b'), text.npos);
  }
  EXPECT_EQ(curve_text({}, ColorMode::kPlain), "(no data)\n");
}

TEST(CurveSvg, HasAxesPointsErrorsLineAndMarks) {
  const std::string svg = curve_svg(speed_curve());
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\""));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "<circle class=\"dot\""), 5U + 1);  // One in the legend.
  EXPECT_EQ(count(svg, "<path class=\"error\""), 5U);
  EXPECT_EQ(count(svg, "<path class=\"fit\""), 1U + 1);
  EXPECT_EQ(count(svg, "<path class=\"mark\""), 1U);
  EXPECT_NE(svg.find(">need: 6 CPUs, 11.2 steps a second</text>"), svg.npos);
  EXPECT_NE(svg.find(">steps a second</text>"), svg.npos);
  EXPECT_EQ(svg, curve_svg(speed_curve()));
}

// Open and closed tags match, and no text is anything but text.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = svg.find('<'); at != svg.npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    ASSERT_NE(end, svg.npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    ASSERT_EQ(tag.find('<'), tag.npos) << tag;
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.starts_with('/')) {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ("/" + open.back(), tag);
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(svg.find("nan"), svg.npos);
  EXPECT_EQ(svg.find("inf"), svg.npos);
}

TEST(CurveSvg, HasNoCharacterThatXmlForbids) {
  CurvePlot plot = speed_curve();
  plot.title = "a\xef\xbf\xbe\xef\xbf\xbf z\x01\x7f\xed\xa0\x80";
  const std::string svg = curve_svg(plot);
  for (const std::string_view bad : {"\xef\xbf\xbe", "\xef\xbf\xbf", "\x01", "\xed\xa0\x80"}) {
    EXPECT_EQ(svg.find(bad), svg.npos);
  }
}

TEST(CurveSvg, TakesOddNumbersAndTexts) {
  for (const CurvePlot& plot : odd_curves()) {
    const std::string svg = curve_svg(plot);
    expect_well_formed(svg);
    EXPECT_EQ(svg.find("<b>"), svg.npos);
    EXPECT_EQ(svg.find('\x1b'), svg.npos);
    EXPECT_EQ(svg.find("& "), svg.npos);
  }
  EXPECT_NE(curve_svg({}).find("Nothing to show"), std::string::npos);
}

}  // namespace
}  // namespace muster
