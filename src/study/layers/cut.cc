#include "study/layers/cut.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/types/check.h"
#include "base/types/saturate.h"

namespace muster {

namespace {

// One forward pass, and backward passes for the gradients of inputs and of weights.
constexpr double kPassesPerStep = 3;
constexpr double kFivePercent = 1.96;  // In standard errors, two-sided.
constexpr double kDominant = 0.3;

// `traffic` is per worker, `macs` are the multiply-adds per sample on the PS worker.
double busy_seconds(const Traffic& traffic, double macs, const TrainingSetup& training) {
  MUSTER_CHECK(training.workers > 0 && training.link_bytes_per_second > 0 &&
               training.macs_per_second > 0);
  const auto workers = static_cast<double>(training.workers);
  const double link =
      2 * workers * static_cast<double>(traffic.total()) / training.link_bytes_per_second;
  const double samples = workers * static_cast<double>(training.batch);
  return std::max(link, kPassesPerStep * samples * macs / training.macs_per_second);
}

}  // namespace

std::int64_t Traffic::total() const { return saturating_add(parameters, activations); }

Traffic traffic_of(std::span<const Layer> layers, std::size_t kept, std::int64_t batch) {
  MUSTER_CHECK(kept <= layers.size() && (kept > 0 || layers.empty()) && batch > 0);
  Traffic traffic;
  for (const Layer& layer : layers.first(kept)) {
    traffic.parameters = saturating_add(traffic.parameters, layer.parameter_bytes());
  }
  if (kept < layers.size()) {
    traffic.activations = saturating_multiply(batch, layers[kept - 1].output_bytes);
  }
  return traffic;
}

double step_seconds(std::span<const Layer> layers, std::size_t kept,
                    const TrainingSetup& training) {
  double macs = 0;
  for (const Layer& layer : layers.subspan(kept)) macs += static_cast<double>(layer.macs);
  return busy_seconds(traffic_of(layers, kept, training.batch), macs, training);
}

double worker_seconds(std::span<const Layer> layers, const TrainingSetup& training) {
  double macs = 0;
  for (const Layer& layer : layers) macs += static_cast<double>(layer.macs);
  return kPassesPerStep * static_cast<double>(training.batch) * macs / training.macs_per_second;
}

std::size_t best_cut(std::span<const Layer> layers, const TrainingSetup& training) {
  std::vector<std::int64_t> parameters = {0};  // Entry i is the sum of the first i layers.
  for (const Layer& layer : layers) {
    parameters.push_back(saturating_add(parameters.back(), layer.parameter_bytes()));
  }
  std::size_t best = layers.size();
  double least = busy_seconds({parameters.back(), 0}, 0, training);
  double macs = 0;
  for (std::size_t kept = layers.size(); kept > 1;) {
    --kept;
    macs += static_cast<double>(layers[kept].macs);
    const Layer& last = layers[kept - 1];
    if (!last.may_cut_behind) continue;
    const Traffic traffic = {parameters[kept],
                             saturating_multiply(training.batch, last.output_bytes)};
    const double seconds = busy_seconds(traffic, macs, training);
    if (seconds >= least) continue;
    least = seconds;
    best = kept;
  }
  return best;
}

std::size_t connected_end(std::span<const Layer> layers) {
  std::size_t kept = layers.size();
  // A convolution uses each weight at hundreds of positions, so the number of bytes per weight
  // (four, two or one) hardly matters.
  while (kept > 1 && layers[kept - 1].macs <= layers[kept - 1].parameter_bytes()) --kept;
  // Layers without computation, such as a normalization, stay with the layer before them.
  while (kept < layers.size() && (layers[kept].macs == 0 || !layers[kept - 1].may_cut_behind)) {
    ++kept;
  }
  return kept;
}

bool LayerSkew::one_dominates() const { return largest_share > kDominant; }

bool LayerSkew::is_skewed() const {
  return standard_error > 0 && std::abs(g1) > kFivePercent * standard_error && one_dominates();
}

LayerSkew skew_of(std::span<const Layer> layers) {
  double count = 0;
  double total = 0;
  double largest = 0;
  for (const Layer& layer : layers) {
    if (layer.parameter_bytes() == 0) continue;
    const auto size = static_cast<double>(layer.parameter_bytes());
    count += 1;
    total += size;
    largest = std::max(largest, size);
  }
  if (count == 0) return {};
  LayerSkew skew;
  skew.largest_share = largest / total;
  double squares = 0;
  double cubes = 0;
  for (const Layer& layer : layers) {
    if (layer.parameter_bytes() == 0) continue;
    const double off = static_cast<double>(layer.parameter_bytes()) - total / count;
    squares += off * off;
    cubes += off * off * off;
  }
  const double variance = squares / count;
  if (variance > 0) skew.g1 = cubes / count / (variance * std::sqrt(variance));
  // Exact for g1 of a normal sample. The better known sqrt(6/n) is too wide for short lists: with
  // it, AlexNet would count as normal.
  if (count > 2) skew.standard_error = std::sqrt(6 * (count - 2) / ((count + 1) * (count + 3)));
  return skew;
}

std::size_t advised_cut(std::span<const Layer> layers, const TrainingSetup& training) {
  return skew_of(layers).is_skewed() ? best_cut(layers, training) : layers.size();
}

}  // namespace muster
