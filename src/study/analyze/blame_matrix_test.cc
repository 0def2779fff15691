#include "study/analyze/blame_matrix.h"

#include <gtest/gtest.h>

#include "study/analyze/page_testing.h"
#include "study/analyze/testing.h"

namespace muster {
namespace {

TEST(WaitedFor, SecondBySecond) {
  Random random(7);
  for (int round = 0; round < 100; ++round) {
    const std::size_t parties = 1 + random.below(4);
    std::vector<PartyWait> waits;
    std::vector<PartyHold> holds;
    for (int i = 0; i < 12; ++i) {
      const auto begin = static_cast<std::int64_t>(random.below(100));
      const auto end = begin + static_cast<std::int64_t>(random.below(50));
      const auto party = static_cast<std::uint32_t>(random.below(parties));
      if (i % 2 == 0) {
        waits.push_back({second(begin), second(end), party});
      } else {
        const auto gpus = static_cast<std::int64_t>(1 + random.below(8));
        holds.push_back({second(begin), second(end), gpus, party});
      }
    }
    std::vector<std::vector<double>> expected(parties, std::vector<double>(parties + 1, 0));
    for (std::int64_t s = 0; s < 150; ++s) {
      std::vector<double> held(parties, 0);
      double all = 0;
      for (const PartyHold& hold : holds) {
        if (second(s) < hold.begin || second(s) >= hold.end) continue;
        held[hold.party] += static_cast<double>(hold.gpus);
        all += static_cast<double>(hold.gpus);
      }
      for (const PartyWait& wait : waits) {
        if (second(s) < wait.begin || second(s) >= wait.end) continue;
        if (all == 0) expected[wait.party][parties] += 1e6;
        for (std::size_t b = 0; b < parties && all > 0; ++b) {
          expected[wait.party][b] += 1e6 * held[b] / all;
        }
      }
    }
    const std::vector<std::vector<double>> found = waited_for(waits, holds, parties);
    ASSERT_EQ(found.size(), parties);
    for (std::size_t a = 0; a < parties; ++a) {
      for (std::size_t b = 0; b <= parties; ++b) {
        EXPECT_NEAR(found[a][b], expected[a][b], 1e-3) << round << ": " << a << " for " << b;
      }
    }
  }
}

TEST(WhoWaited, NamesTheWorstPair) {
  History history;
  history.knows = all_known();
  add_job(history, 0, 6, "b");
  add_attempt(history, 0, 7200);
  add_job(history, 0, 2, "c");
  add_attempt(history, 0, 7200);
  add_job(history, 3600, 1, "a");  // An hour: three quarters of it for b.
  add_attempt(history, 7200, 7300);
  const Page page = study(history, nullptr, StudyOptions());
  EXPECT_NEAR(value_at(page, "who-waited-for-whom", "a", "b (h)"), 0.75, 1e-9);
  EXPECT_NEAR(value_at(page, "who-waited-for-whom", "a", "c (h)"), 0.25, 1e-9);
  EXPECT_NEAR(value_at(page, "who-waited-for-whom", "a", "in all (h)"), 1, 1e-9);
  EXPECT_EQ(
      section_of(page, "who-waited-for-whom").findings.back(),
      "The largest wait for another party is that of a for b: 45.0 min, 75.0% of all waiting.");
}

TEST(WhoWaited, AreUsersWhereThereAreNoTenants) {
  History history;
  history.knows = all_known();
  history.knows.tenants = false;
  add_job(history, 0, 1, "", "x");
  add_attempt(history, 0, 3600);
  add_job(history, 0, 1, "", "y");
  add_attempt(history, 3600, 3700);
  const Page page = study(history, nullptr, StudyOptions());
  EXPECT_NEAR(value_at(page, "who-waited-for-whom", "y", "x (h)"), 1, 1e-9);
}

}  // namespace
}  // namespace muster
