#include "engine/fit/spread.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster {
namespace {

using Shares = std::vector<PsShare>;

TEST(Spread, EqualNumbersOnTheFewestServers) {
  EXPECT_EQ(spread_evenly(2, 2, 9, 4), (Shares{{2, 2}}));
  EXPECT_EQ(spread_evenly(2, 4, 9, 3), (Shares{{1, 2}, {1, 2}}));
  EXPECT_EQ(spread_evenly(3, 9, 3, 4), (Shares{{1, 3}, {1, 3}, {1, 3}}));
  EXPECT_EQ(spread_evenly(0, 3, 3, 1), (Shares{{0, 1}, {0, 1}, {0, 1}}));
}

TEST(Spread, TheRemainderOfBothSortsGoesToTheFirstServersIfItFits) {
  EXPECT_EQ(spread_evenly(3, 5, 2, 5), (Shares{{2, 3}, {1, 2}}));
  EXPECT_EQ(spread_evenly(3, 5, 2, 4), (Shares{{2, 2}, {1, 3}}));
  EXPECT_EQ(spread_evenly(4, 8, 3, 4), (Shares{{2, 2}, {1, 3}, {1, 3}}));
  EXPECT_EQ(spread_evenly(1, 3, 2, 3), (Shares{{1, 2}, {0, 1}}));
}

TEST(Spread, TooSmallServersGetNothing) {
  EXPECT_EQ(spread_evenly(4, 4, 3, 2), std::nullopt);
  EXPECT_EQ(spread_evenly(1, 0, 3, 0), std::nullopt);
  EXPECT_EQ(spread_evenly(1, 0, 0, 3), std::nullopt);
  EXPECT_EQ(spread_evenly(0, 0, 0, 0), Shares{});
}

TEST(Spread, FitsAlwaysAndIsEven) {
  for (int ps = 0; ps <= 12; ++ps) {
    for (int workers = 0; workers <= 12; ++workers) {
      for (int capacity = 1; capacity <= 25; ++capacity) {
        const int fewest = (ps + workers + capacity - 1) / capacity;
        if (fewest > 0) {
          EXPECT_EQ(spread_evenly(ps, workers, fewest - 1, capacity), std::nullopt);
        }
        const std::optional<Shares> shares = spread_evenly(ps, workers, fewest + 2, capacity);
        ASSERT_TRUE(shares.has_value());
        ASSERT_EQ(shares->size(), static_cast<std::size_t>(fewest));
        PsShare sum;
        for (const PsShare& share : *shares) {
          sum.ps += share.ps;
          sum.workers += share.workers;
          EXPECT_LE(share.ps + share.workers, capacity);
          EXPECT_GE(share.ps + share.workers, 1);
          EXPECT_LE(std::abs(share.ps - shares->front().ps), 1);
          EXPECT_LE(std::abs(share.workers - shares->front().workers), 1);
        }
        EXPECT_EQ(sum, (PsShare{ps, workers}));
      }
    }
  }
}

// Counted task by task: the parts that go through the busiest link of either sort.
TEST(Spread, TransfersAreWhatTasksExchangeWithOtherServers) {
  const Shares shares = {{2, 1}, {0, 3}, {1, 0}, {0, 0}, {1, 2}};
  std::vector<std::size_t> ps;
  std::vector<std::size_t> workers;
  for (std::size_t node = 0; node < shares.size(); ++node) {
    ps.insert(ps.end(), static_cast<std::size_t>(shares[node].ps), node);
    workers.insert(workers.end(), static_cast<std::size_t>(shares[node].workers), node);
  }
  const auto busiest = [](const std::vector<std::size_t>& here,
                          const std::vector<std::size_t>& there) {
    long most = 0;
    for (const std::size_t node : here) {
      most = std::max(most, static_cast<long>(there.size()) -
                                static_cast<long>(std::count(there.begin(), there.end(), node)));
    }
    return most;
  };
  EXPECT_EQ(transfers(shares).at_ps, busiest(ps, workers));
  EXPECT_EQ(transfers(shares).at_ps, 6);
  EXPECT_EQ(transfers(shares).at_worker, busiest(workers, ps));
  EXPECT_EQ(transfers(shares).at_worker, 4);
  EXPECT_EQ(transfers(Shares{{3, 5}}).at_ps, 0);
  EXPECT_EQ(transfers(Shares{}).at_worker, 0);
}

TEST(Spread, TheBoundIsExactWhereEveryServerHoldsBothSorts) {
  const Shares both = {{2, 1}, {1, 3}, {0, 0}};
  EXPECT_EQ(transfer_bound(both).at_ps, transfers(both).at_ps);
  EXPECT_EQ(transfer_bound(both).at_worker, transfers(both).at_worker);
  const Shares apart = {{2, 2}, {0, 1}};
  EXPECT_EQ(transfers(apart).at_ps, 1);
  EXPECT_EQ(transfer_bound(apart).at_ps, 2);
}

// The exception described in spread.h.
TEST(Spread, OnServersWithRoomToSpareAnUnevenOneCanTransferLess) {
  const std::optional<Shares> even = spread_evenly(2, 6, 2, 7);
  ASSERT_EQ(even, (Shares{{1, 3}, {1, 3}}));
  const Shares uneven = {{2, 5}, {0, 1}};
  EXPECT_EQ(std::max(transfers(*even).at_ps, transfers(*even).at_worker), 3);
  EXPECT_EQ(std::max(transfers(uneven).at_ps, transfers(uneven).at_worker), 2);
}

}  // namespace
}  // namespace muster
