#include "engine/fit/nnls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/types/random.h"
#include "tests/campaign.h"

namespace muster {
namespace {

struct Problem {
  std::vector<double> a;
  std::size_t unknowns = 0;
  std::vector<double> b;
  std::vector<double> weights;

  NnlsAnswer solve() const { return solve_nnls(a, unknowns, b, weights); }

  double weight(std::size_t row) const { return weights.empty() ? 1 : weights[row]; }

  double error(std::size_t row, const std::vector<double>& x) const {
    double sum = -b[row];
    for (std::size_t j = 0; j < unknowns; ++j) sum += a[row * unknowns + j] * x[j];
    return sum;
  }

  double square(const std::vector<double>& x) const {
    double sum = 0;
    for (std::size_t i = 0; i < b.size(); ++i) sum += weight(i) * error(i, x) * error(i, x);
    return sum;
  }

  // Naive reference implementation: repeatedly optimizes one unknown at a time.
  std::vector<double> by_descent() const {
    std::vector<double> x(unknowns, 0);
    for (int sweep = 0; sweep < 20'000; ++sweep) {
      for (std::size_t j = 0; j < unknowns; ++j) {
        double slope = 0;
        double curvature = 0;
        for (std::size_t i = 0; i < b.size(); ++i) {
          const double value = a[i * unknowns + j];
          slope += weight(i) * value * error(i, x);
          curvature += weight(i) * value * value;
        }
        if (curvature > 0) x[j] = std::max(0.0, x[j] - slope / curvature);
      }
    }
    return x;
  }
};

Problem random_problem(Random& random, std::size_t rows, std::size_t unknowns) {
  Problem problem;
  problem.unknowns = unknowns;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < unknowns; ++j) problem.a.push_back(random.normal());
    problem.b.push_back(random.normal());
  }
  return problem;
}

TEST(Nnls, RecoversWhatWasPlanted) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    Random random(seed);
    Problem problem = random_problem(random, 12, 5);
    std::vector<double> planted(5);
    for (double& x : planted) x = random.below(3) == 0 ? 0 : random.uniform(0.1, 10);
    problem.b.assign(12, 0);
    for (std::size_t i = 0; i < 12; ++i) problem.b[i] = problem.error(i, planted);
    const NnlsAnswer answer = problem.solve();
    for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(answer.x[j], planted[j], 1e-9);
    EXPECT_LT(answer.residual, 1e-9);
  }
}

TEST(Nnls, IsTheBestThereIsAndNoneIsNegative) {
  int bounded = 0;
  for (std::uint64_t seed = 0; seed < campaign_size(60, 60); ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    Random random(seed);
    const std::size_t unknowns = 1 + random.below(5);
    Problem problem = random_problem(random, unknowns + 3 + random.below(5), unknowns);
    if (random.below(2) == 0) {
      for (std::size_t i = 0; i < problem.b.size(); ++i) {
        problem.weights.push_back(random.uniform(0, 4));
      }
    }
    const NnlsAnswer answer = problem.solve();
    for (const double x : answer.x) {
      EXPECT_GE(x, 0);
      bounded += x == 0 ? 1 : 0;
    }
    EXPECT_NEAR(answer.residual * answer.residual, problem.square(answer.x), 1e-9);
    const std::vector<double> reference = problem.by_descent();
    for (std::size_t j = 0; j < unknowns; ++j) EXPECT_NEAR(answer.x[j], reference[j], 1e-6);
  }
  EXPECT_GT(bounded, campaign_floor(30));  // Many would be negative if they might.
}

TEST(Nnls, WeightsAreRepeatedRows) {
  Random random(1);
  const Problem once = random_problem(random, 6, 3);
  Problem weighted = once;
  Problem repeated{{}, 3, {}, {}};
  for (std::size_t i = 0; i < 6; ++i) {
    weighted.weights.push_back(static_cast<double>(i % 3));
    for (std::size_t copy = 0; copy < i % 3; ++copy) {
      for (std::size_t j = 0; j < 3; ++j) repeated.a.push_back(once.a[i * 3 + j]);
      repeated.b.push_back(once.b[i]);
    }
  }
  const NnlsAnswer left = weighted.solve();
  const NnlsAnswer right = repeated.solve();
  for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(left.x[j], right.x[j], 1e-12);
  EXPECT_NEAR(left.residual, right.residual, 1e-12);
  EXPECT_GT(std::fabs(left.residual - once.solve().residual), 0.01);
}

TEST(Nnls, BadScalingDoesNotMatter) {
  Random random(2);
  Problem problem = random_problem(random, 10, 4);
  const std::vector<double> scale = {1e-120, 1e90, 1, 1e-7};
  const std::vector<double> planted = {3, 1, 0, 2};
  for (std::size_t i = 0; i < 10; ++i) {
    problem.b[i] = 0;
    problem.b[i] = problem.error(i, planted);
    for (std::size_t j = 0; j < 4; ++j) problem.a[i * 4 + j] *= scale[j];
  }
  const NnlsAnswer answer = problem.solve();
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(answer.x[j] * scale[j], planted[j], 1e-9);
}

TEST(Nnls, DependentColumnsLeaveTheFewestUnknowns) {
  // Columns 0 and 2 are equal, column 1 is their sum, column 3 is zero.
  Random random(3);
  Problem problem;
  problem.unknowns = 4;
  for (int i = 0; i < 8; ++i) {
    const double value = random.uniform(1, 2);
    for (const double x : {value, 2 * value, value, 0.0}) problem.a.push_back(x);
    problem.b.push_back(6 * value * random.uniform(0.9, 1.1));
  }
  const NnlsAnswer answer = problem.solve();
  EXPECT_NEAR(answer.x[0], 6, 0.6);
  EXPECT_EQ(answer.x[1], 0);
  EXPECT_EQ(answer.x[2], 0);
  EXPECT_EQ(answer.x[3], 0);
  const std::vector<double> other = {0, answer.x[0] / 2, 0, 7};
  EXPECT_NEAR(problem.square(answer.x), problem.square(other), 1e-9);
}

TEST(Nnls, TooFewRowsAreStillMet) {
  const NnlsAnswer answer = solve_nnls(std::vector<double>{1, 2, 4}, 3, std::vector<double>{8});
  EXPECT_NEAR(answer.x[0] + 2 * answer.x[1] + 4 * answer.x[2], 8, 1e-12);
  EXPECT_EQ(std::count(answer.x.begin(), answer.x.end(), 0.0), 2);
}

TEST(Nnls, NothingToGainGivesZero) {
  const std::vector<double> column = {1, 1};
  EXPECT_EQ(solve_nnls(column, 1, std::vector<double>{-1, -2}).x[0], 0);
  EXPECT_NEAR(solve_nnls(column, 1, std::vector<double>{-1, -2}).residual, std::sqrt(5.0), 1e-12);
  EXPECT_EQ(solve_nnls(column, 1, std::vector<double>{0, 0}).x[0], 0);
  EXPECT_EQ(solve_nnls({}, 2, {}).x, (std::vector<double>{0, 0}));
  EXPECT_EQ(solve_nnls(column, 1, column, std::vector<double>{0, 0}).x[0], 0);
}

}  // namespace
}  // namespace muster
