// Checks of whole claims of Optimus' paper, under the names they have in the list of sanity tests.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/types/random.h"
#include "engine/fit/loss_curve.h"
#include "engine/fit/speed_fit.h"
#include "engine/fit/spread.h"

namespace muster {
namespace {

double sanity_error(double got, double planted) { return std::fabs(got - planted) / planted; }

void expect_loss_curve(const LossCurve& planted, double noise, double tolerance, Random random) {
  std::vector<LossPoint> points;
  for (int epoch = 0; epoch < 100; ++epoch) {
    for (int i = 0; i < 10; ++i) {
      points.push_back(
          {epoch + 0.1 * i, planted.at(epoch + 0.1 * i) * (1 + noise * random.normal())});
    }
  }
  const Result<LossCurve> curve = fit_loss_curve(points);
  ASSERT_TRUE(curve.ok()) << curve.error().message;
  EXPECT_LT(sanity_error(curve.value().b0, planted.b0), tolerance);
  EXPECT_LT(sanity_error(curve.value().b1, planted.b1), tolerance);
  EXPECT_LT(sanity_error(curve.value().b2, planted.b2), tolerance);
}

void expect_speed(const SpeedModel& planted, double noise, double tolerance, Random random) {
  const bool sync = planted.training == Training::kSync;
  std::vector<SpeedPoint> points;
  for (int i = 0; i < 2000; ++i) {
    const int ps = 1 + static_cast<int>(random.below(10));
    const int workers = 1 + static_cast<int>(random.below(10));
    points.push_back(
        {ps, workers, 64, planted.speed(ps, workers, 64) * (1 + noise * random.normal())});
  }
  const Result<SpeedModel> fitted = fit_speed(planted.training, points);
  ASSERT_TRUE(fitted.ok()) << fitted.error().message;
  for (std::size_t i = 0; i < (sync ? 5 : 4); ++i) {
    EXPECT_LT(sanity_error(fitted.value().theta[i], planted.theta[i]), tolerance) << i;
  }
}

// Every parameter by itself: to a millionth from exact points, to a tenth with 5% noise on each of
// 1000 losses over 100 epochs and each of 2000 speeds. What fewer points can tell is tested in
// loss_curve_test.cc and speed_fit_test.cc.
TEST(Sanity, J7_OptimusFitRecoversPlantedParameters) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (const auto& [noise, tolerance] : {std::pair(0.0, 1e-6), std::pair(0.05, 0.10)}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", noise " << noise);
      const Random random(seed);
      expect_loss_curve({0.2, 0.5, 0.3, 0, 0}, noise, tolerance, random);
      expect_loss_curve({0.05, 0.2, 0.5, 0, 0}, noise, tolerance, random);
      expect_loss_curve({0.02, 0.02, 2, 0, 0}, noise, tolerance, random);
      expect_speed({Training::kSync, {0.02, 2, 1, 0.2, 0.3}, 0}, noise, tolerance, random);
      expect_speed({Training::kAsync, {2, 1.5, 0.2, 0.3, 0}, 0}, noise, tolerance, random);
    }
  }
}

using SaneShares = std::vector<PsShare>;

bool comes_after(const PsShare& a, const PsShare& b) {
  return a.ps != b.ps ? a.ps > b.ps : a.workers > b.workers;
}

// All distinct ways to put the tasks on equal nodes: nodes in descending order.
template <class Visit>
void for_each_placement(PsShare left, int capacity, SaneShares& so_far, const Visit& visit) {
  if (left == PsShare{}) visit(so_far);
  for (int ps = 0; ps <= left.ps; ++ps) {
    for (int workers = 0; workers <= left.workers; ++workers) {
      const PsShare share = {ps, workers};
      if (ps + workers == 0 || ps + workers > capacity) continue;
      if (!so_far.empty() && comes_after(share, so_far.back())) continue;
      so_far.push_back(share);
      for_each_placement({left.ps - ps, left.workers - workers}, capacity, so_far, visit);
      so_far.pop_back();
    }
  }
}

// Both numbers at the same time, so the even spread is fastest for any bandwidth. By
// transfer_bound() for every capacity; by the actual transfers() if the nodes are full. Placements
// may use any number of nodes.
TEST(Sanity, J10_EvenSpreadIsOptimalByBruteForce) {
  int placements = 0;
  int worse = 0;
  int filled = 0;
  for (int ps = 1; ps <= 6; ++ps) {
    for (int workers = 1; workers <= 6; ++workers) {
      for (int capacity = 1; capacity <= ps + workers; ++capacity) {
        const std::optional<SaneShares> even = spread_evenly(ps, workers, ps + workers, capacity);
        ASSERT_TRUE(even.has_value());
        const bool full = static_cast<int>(even->size()) * capacity == ps + workers;
        const Transfers bound = transfer_bound(*even);
        const Transfers real = transfers(*even);
        filled += full ? 1 : 0;
        SaneShares scratch;
        for_each_placement({ps, workers}, capacity, scratch, [&](const SaneShares& other) {
          ++placements;
          const Transfers other_bound = transfer_bound(other);
          const Transfers other_real = transfers(other);
          ASSERT_LE(bound.at_ps, other_bound.at_ps);
          ASSERT_LE(bound.at_worker, other_bound.at_worker);
          if (full) {
            ASSERT_LE(real.at_ps, other_real.at_ps);
            ASSERT_LE(real.at_worker, other_real.at_worker);
          }
          const bool loses =
              bound.at_ps < other_bound.at_ps || bound.at_worker < other_bound.at_worker;
          worse += loses ? 1 : 0;
        });
      }
    }
  }
  EXPECT_GT(placements, 20'000);
  EXPECT_GT(worse, placements / 2);  // It is not that all placements are equally good.
  EXPECT_GT(filled, 36);             // More than the trivial one on a single node.
}

}  // namespace
}  // namespace muster
