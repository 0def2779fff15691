#include "study/layers/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/types/check.h"
#include "base/types/saturate.h"

namespace muster {

namespace {

constexpr double kWorthNaming = 1.5;  // Smaller savings are hardly noticeable.

// "fc6", "fc6 and fc7", "fc6, fc7 and fc8", "mixed7c/1.1 and the 9 layers after it".
std::string names_of(std::span<const Layer> layers) {
  if (layers.size() > 3) {
    return fmt::format("{} and the {} layers after it", layers[0].name, layers.size() - 1);
  }
  std::string names = layers[0].name;
  for (std::size_t i = 1; i < layers.size(); ++i) {
    names += (i + 1 == layers.size() ? " and " : ", ") + layers[i].name;
  }
  return names;
}

std::string why_left_alone(const LayerAdvice& advice) {
  if (advice.parameter_bytes == 0) return "it has no parameters to send";
  if (advice.with_parameters < 3) return "fewer than three layers have parameters";
  if (!advice.skew.one_dominates()) {
    return fmt::format("no layer dominates, the largest holds {:.1f} % of the parameters",
                       100 * advice.skew.largest_share);
  }
  if (!advice.skew.is_skewed()) return "the sizes of its layers may be normally distributed";
  return "it is skewed, but no cut makes a step shorter here";
}

}  // namespace

double LayerAdvice::traffic_ratio() const {
  if (cut.total() == 0) return 1;
  return static_cast<double>(whole.total()) / static_cast<double>(cut.total());
}

LayerAdvice advise(std::span<const Layer> layers, const TrainingSetup& training) {
  MUSTER_CHECK(!layers.empty());
  LayerAdvice advice;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::int64_t bytes = layers[i].parameter_bytes();
    advice.parameter_bytes = saturating_add(advice.parameter_bytes, bytes);
    advice.with_parameters += bytes > 0 ? 1 : 0;
    if (bytes > layers[advice.largest].parameter_bytes()) advice.largest = i;
  }
  advice.skew = skew_of(layers);
  advice.kept = advised_cut(layers, training);
  advice.shown = advice.cuts(layers) ? advice.kept : connected_end(layers);
  advice.whole = traffic_of(layers, layers.size(), training.batch);
  advice.cut = traffic_of(layers, advice.shown, training.batch);
  advice.whole_seconds = step_seconds(layers, layers.size(), training);
  advice.cut_seconds = step_seconds(layers, advice.shown, training);
  return advice;
}

std::string advice_sentence(std::string_view model, std::span<const Layer> layers,
                            const LayerAdvice& advice) {
  if (!advice.cuts(layers)) {
    std::string out = fmt::format("Leave {} data parallel: {}", model, why_left_alone(advice));
    const std::size_t last = layers.size() - advice.shown;
    const double ratio = advice.traffic_ratio();
    if (last > 0 && ratio > 1) {
      out += fmt::format(", {} a cut before its last {} would send {}{:.2f} times less",
                         ratio < kWorthNaming ? "and" : "though",
                         last == 1 ? std::string("layer") : fmt::format("{} layers", last),
                         ratio < kWorthNaming ? "only " : "", ratio);
    }
    return out + ".";
  }
  return fmt::format(
      "Keep {} of {} only on the parameter server and train the {} before data parallel: a step "
      "sends {:.1f} times less and occupies the parameter server {:.1f} times less.",
      names_of(layers.subspan(advice.kept)), model,
      advice.kept == 1 ? std::string("layer") : fmt::format("{} layers", advice.kept),
      advice.traffic_ratio(), advice.whole_seconds / advice.cut_seconds);
}

double profile_skew(const LayerAdvice& advice) {
  const double rounded = std::round(advice.skew.largest_share * 1000) / 1000;
  if (!advice.skew.one_dominates()) return rounded;
  constexpr double kJustDominant = 0.301;  // Rounding must not move it below the threshold.
  return advice.skew.is_skewed() ? std::max(rounded, kJustDominant) : 0;
}

}  // namespace muster
