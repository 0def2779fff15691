#include "study/page/page_text.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text/wording.h"
#include "study/page/cells.h"
#include "study/page/test_page.h"

namespace muster {
namespace {

TEST(PageText, ASmallPage) {
  EXPECT_EQ(page_text(small_page(), 44, ColorMode::kPlain),
            "A cluster's past\n"
            "================\n"
            "82,247 jobs of small.csv\n"
            "\n"
            "How long do jobs wait?\n"
            "----------------------\n"
            "- Half of the jobs start within 3.2 minutes\n"
            "  and one in ten waits for hours.\n"
            "- Large ones wait longest.\n"
            "- missing in the input: why jobs waited.\n"
            "\n"
            "By size:\n"
            "GPUs           jobs  wait p50 (min)\n"
            "-----------  ------  --------------\n"
            "1            82,247         1,234.6\n"
            "2, 3 or \"4\"  -1,500               -\n"
            "more              -            0.10\n"
            "\n"
            "</script><b>\"a\" & 'b'?[31m?\xef\xbf\xbd\xef\xbf\xbd(\n"
            "------------------------------\n"
            "- </script><b>\"a\" & 'b'?[31m?\xef\xbf\xbd\xef\xbf\xbd(\n"
            "\n"
            "Notes\n"
            "-----\n"
            "- Two jobs were left out.\n"
            "\n"
            "Commands\n"
            "--------\n"
            "  muster analyze small.csv\n");
}

TEST(PageText, TitlesAreBoldInColorAndNothingElseMovesTheCursor) {
  std::string text = page_text(small_page(), 80, ColorMode::kColor);
  EXPECT_EQ(text.rfind("\x1b[1mA cluster's past\x1b[0m\n", 0), 0u);
  for (const char* ours : {"\x1b[1m", "\x1b[0m", "\x1b[2m"}) {
    for (std::size_t at; (at = text.find(ours)) != std::string::npos;) text.erase(at, 4);
  }
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(PageText, NoSentenceIsWiderThanAskedFor) {
  Page page;
  page.title = "t";
  std::string sentence;
  for (int i = 0; i < 200; ++i)
    sentence += std::string(static_cast<std::size_t>(i % 13), 'x') + " ";
  page.notes = {sentence};
  for (const int width : {30, 41, 80}) {
    const std::string text = page_text(page, width, ColorMode::kPlain);
    for (std::size_t from = 0, to; (to = text.find('\n', from)) != std::string::npos;
         from = to + 1) {
      const std::string line = text.substr(from, to - from);
      EXPECT_LE(display_width(line), static_cast<std::size_t>(width));
      EXPECT_TRUE(line.empty() || line.back() != ' ');
    }
  }
}

TEST(CellText, GroupsDigitsBeforeThePointOnly) {
  EXPECT_EQ(cell_text(Number{1234567.8912, 3}), "1,234,567.891");
  EXPECT_EQ(cell_text(Number{-123456, 0}), "-123,456");
  EXPECT_EQ(cell_text(Number{-123, 0}), "-123");
  EXPECT_EQ(cell_text(Number{-0.001, 1}), "0.0");
  EXPECT_EQ(cell_text(Number{999.96, 1}), "1,000.0");
  EXPECT_EQ(cell_text(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
  EXPECT_EQ(cell_text(Number{std::numeric_limits<double>::infinity(), 1}), std::nullopt);
  EXPECT_EQ(cell_text(Cell{}), std::nullopt);
}

TEST(PageDeathTest, KeysAreCheckedAndSoAreShapes) {
  Page page = small_page();
  page.sections[0].tables[0].key = "By Size";
  EXPECT_DEATH(check_page(page), "broken invariant");
  page = small_page();
  page.sections[1].gantts[0].key = "by-size";
  EXPECT_DEATH(check_page(page), "broken invariant");
  page = small_page();
  page.sections[0].plots[0].series[0].x.pop_back();
  EXPECT_DEATH(check_page(page), "broken invariant");
  page = small_page();
  page.sections[1].gantts[0].bars[0].row = 3;
  EXPECT_DEATH(check_page(page), "broken invariant");
  page = small_page();
  page.sections[0].tables[0].rows[0].pop_back();
  EXPECT_DEATH(check_page(page), "broken invariant");
}

}  // namespace
}  // namespace muster
