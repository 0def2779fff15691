#include "base/terminal/table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "base/text/wording.h"

namespace muster {
namespace {

TEST(Table, AlignsAndUnderlines) {
  Table table({{"name", Align::kLeft}, {"n", Align::kRight}, {"note", Align::kLeft}});
  table.add_row({"a", "1", "x"});
  table.add_row({"longer", "1,000", ""});
  EXPECT_EQ(table.row_count(), 2u);
  EXPECT_EQ(table.render(),
            "name        n  note\n"
            "------  -----  ----\n"
            "a           1  x\n"
            "longer  1,000\n");
}

TEST(Table, WithColorDimsTheHeaderInstead) {
  Table table({{"a", Align::kLeft}, {"b", Align::kRight}});
  table.add_row({"1", "22"});
  EXPECT_EQ(table.render(ColorMode::kColor), "\x1b[2ma   b\x1b[0m\n1  22\n");
}

TEST(Table, CountsColumnsNotBytes) {
  Table table({{"name", Align::kLeft}, {"gain", Align::kRight}});
  table.add_row({"grün", "—"});
  table.add_row({"日本", "2.00x"});
  EXPECT_EQ(table.render(),
            "name   gain\n"
            "----  -----\n"
            "grün      —\n"
            "日本  2.00x\n");
}

TEST(Table, CutsTheLastColumnToTheTerminal) {
  Table table({{"id", Align::kRight}, {"why", Align::kLeft}});
  table.add_row({"1", "waits for 8 GPUs"});
  table.add_row({"12", "ends"});
  EXPECT_EQ(table.render(ColorMode::kPlain, 12),
            "id  why\n"
            "--  --------\n"
            " 1  waits f…\n"
            "12  ends\n");
  EXPECT_EQ(table.render(ColorMode::kPlain, 3), "id  why\n--  ---\n 1  wa…\n12  en…\n");
  EXPECT_EQ(table.render(ColorMode::kPlain, 80), table.render());
}

TEST(Table, TintsOnlyWhereThereIsColor) {
  Table table({{"a", Align::kLeft}, {"b", Align::kLeft}});
  table.add_row({"x", "y"});
  table.add_row({"xx", "y"});
  table.tint(0, Tint::kRed);
  EXPECT_EQ(table.render(), "a   b\n--  -\nx   y\nxx  y\n");
  EXPECT_EQ(table.render(ColorMode::kColor), "\x1b[2ma   b\x1b[0m\nx   y\n\x1b[31mxx\x1b[0m  y\n");
}

TEST(Table, CutsBetweenCharacters) {
  EXPECT_EQ(cut_text("héllo", 5), "héllo");
  EXPECT_EQ(cut_text("héllo", 4), "hél…");
  EXPECT_EQ(cut_text("日本語", 4), "日…");
  EXPECT_EQ(cut_text("ab", 1), "…");
  EXPECT_EQ(cut_text("ab", 0), "");
}

TEST(Table, DoesNotLetACellControlTheTerminal) {
  Table table({{"id", Align::kLeft}});
  table.add_row({"a\x1b[2J\nb\xff\xe2\x80\xae"});
  EXPECT_EQ(table.render(), "id\n---------\na?[2J?b\xef\xbf\xbd?\n");
}

TEST(Wording, GroupsThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
}

TEST(Wording, MillionthsReadAsSecondsDo) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{100'000},
        std::int64_t{1'500'000}, std::int64_t{-90'000'010}, kMax, -kMax - 1}) {
    std::string text;
    append_millionths(text, value);
    EXPECT_EQ(text, seconds_text(value));
  }
  EXPECT_EQ(in_millionths(1.0 / 3), 333'333);
  EXPECT_EQ(in_millionths(-0.0000001), 0);
}

TEST(Wording, WidthOfCombiningMarksIsZero) {
  EXPECT_EQ(display_width("e\xcc\x81"), 1u);
  EXPECT_EQ(display_width("—"), 1u);
  EXPECT_EQ(display_width(""), 0u);
}

}  // namespace
}  // namespace muster
