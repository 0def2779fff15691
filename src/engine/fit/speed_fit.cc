#include "engine/fit/speed_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "base/types/check.h"
#include "engine/fit/nnls.h"

namespace muster {

namespace {

std::size_t terms_of(Training training) { return training == Training::kSync ? 5 : 4; }

// Factors of theta: their weighted sum is the time of a step (kAsync: of one worker's step).
std::array<double, 5> terms(Training training, int ps, int workers, double batch) {
  const double p = ps;
  const double w = workers;
  if (training == Training::kSync) return {batch / w, 1, w / p, w, p};
  return {1, w / p, w, p, 0};
}

MaybeError unusable(Training training, std::span<const SpeedPoint> points) {
  std::set<std::tuple<int, int, double>> settings;
  for (const SpeedPoint& point : points) {
    if (point.ps < 1 || point.workers < 1) return Error{"no parameter server or no worker"};
    if (!std::isfinite(point.speed) || !(point.speed > 0)) {
      return Error{"a speed is not above zero and finite"};
    }
    if (!std::isfinite(point.batch) || !(point.batch > 0)) {
      return Error{"a batch size is not above zero and finite"};
    }
    settings.insert({point.ps, point.workers, training == Training::kSync ? point.batch : 1});
  }
  if (settings.size() < terms_of(training)) return Error{"speeds at too few settings"};
  return std::nullopt;
}

}  // namespace

double SpeedModel::speed(int ps, int workers, double batch) const {
  MUSTER_CHECK(ps >= 1 && workers >= 1 && batch > 0);
  const std::array<double, 5> factors = terms(training, ps, workers, batch);
  double time = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) time += theta[i] * factors[i];
  return (training == Training::kSync ? 1 : workers) / time;
}

Result<SpeedModel> fit_speed(Training training, std::span<const SpeedPoint> points) {
  if (MaybeError refusal = unusable(training, points)) return *refusal;
  const std::size_t unknowns = terms_of(training);
  // Divide each row by the measured time, so that the right side is 1 and errors are relative.
  std::vector<double> rows;
  for (const SpeedPoint& point : points) {
    const double time = (training == Training::kSync ? 1 : point.workers) / point.speed;
    const std::array<double, 5> factors = terms(training, point.ps, point.workers, point.batch);
    for (std::size_t i = 0; i < unknowns; ++i) rows.push_back(factors[i] / time);
  }
  const bool sane =
      std::all_of(rows.begin(), rows.end(), [](double x) { return std::isfinite(x) && x > 0; });
  if (!sane) return Error{"a speed or batch size is too large or too small to compute with"};
  const NnlsAnswer answer = solve_nnls(rows, unknowns, std::vector<double>(points.size(), 1.0));
  SpeedModel model{training, {}, answer.residual / std::sqrt(static_cast<double>(points.size()))};
  std::copy(answer.x.begin(), answer.x.end(), model.theta.begin());
  return model;
}

}  // namespace muster
