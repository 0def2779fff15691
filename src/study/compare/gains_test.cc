#include "study/compare/gains.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster {
namespace {

JobGain job(const char* id, const char* user, int before, int after) {
  return {id, user, "", 1, Duration::seconds(before), Duration::seconds(after)};
}

const PageTable* find(const Section& section, const std::string& key) {
  const auto at = std::find_if(section.tables.begin(), section.tables.end(),
                               [&](const PageTable& table) { return table.key == key; });
  return at == section.tables.end() ? nullptr : &*at;
}

std::vector<std::string> first_cells(const PageTable& table) {
  std::vector<std::string> cells;
  for (const auto& row : table.rows) cells.push_back(std::get<std::string>(row.front()));
  return cells;
}

TEST(Gains, NamesTheJobsThatGainAndLoseMost) {
  const Section section =
      gains_section({job("a", "ann", 100, 40), job("b", "ann", 100, 100), job("c", "bob", 100, 10),
                     job("d", "bob", 60, 300), job("e", "cem", 50, 70)},
                    {"x", "fifo", "srtf"});
  EXPECT_EQ(section.key, "gains-x");
  EXPECT_EQ(section.findings.at(0),
            "Of 5 jobs, 2 would finish earlier than under fifo, 2 later, and 1 at the same time "
            "(within a second).");
  ASSERT_NE(find(section, "gained-x"), nullptr);
  EXPECT_EQ(first_cells(*find(section, "gained-x")), (std::vector<std::string>{"c", "a"}));
  ASSERT_NE(find(section, "lost-x"), nullptr);
  EXPECT_EQ(first_cells(*find(section, "lost-x")), (std::vector<std::string>{"d", "e"}));
  EXPECT_EQ(std::get<Number>(find(section, "lost-x")->rows[0][6]).value, 4);  // Minutes.
}

TEST(Gains, OfUsersThoseWhoseTimesChangeMostComeFirst) {
  const Section section = gains_section({job("a", "ann", 100, 40), job("b", "ann", 100, 100),
                                         job("c", "bob", 120, 300), job("d", "cem", 5, 5)},
                                        {"x", "fifo", "srtf"});
  const PageTable* users = find(section, "by-user-x");
  ASSERT_NE(users, nullptr);
  EXPECT_EQ(first_cells(*users), (std::vector<std::string>{"bob", "ann", "cem"}));
  EXPECT_EQ(std::get<std::int64_t>(users->rows[1][1]), 2);
  EXPECT_DOUBLE_EQ(std::get<Number>(users->rows[1][2]).value, 100.0 / 60);
  EXPECT_DOUBLE_EQ(std::get<Number>(users->rows[1][3]).value, 70.0 / 60);
  EXPECT_EQ(find(section, "by-tenant-x"), nullptr) << "no job has a tenant";
}

TEST(Gains, NobodyGainsWhereNothingChanges) {
  const Section section = gains_section({job("a", "", 100, 100)}, {"x", "fifo", "srtf"});
  EXPECT_TRUE(section.tables.empty());
  EXPECT_TRUE(gains_section({}, {"x", "fifo", "srtf"}).tables.empty());
}

}  // namespace
}  // namespace muster
