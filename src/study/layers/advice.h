#pragma once

// The analysis of one model under one training setup: the distribution of its layers' sizes, the
// best cut, the traffic and parameter server time with and without it, and one sentence of advice.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "study/layers/cut.h"
#include "study/layers/layer.h"

namespace muster {

struct LayerAdvice {
  std::int64_t parameter_bytes = 0;
  std::size_t with_parameters = 0;  // Number of layers with parameters.
  std::size_t largest = 0;          // Index of the largest layer; the first on ties.
  LayerSkew skew;
  // Layers to keep on the workers. All layers: plain data parallel training.
  std::size_t kept = 0;
  // The cut that the figures describe: the advised cut or, without one, the cut before the fully
  // connected end, for comparison. All layers if there is none.
  std::size_t shown = 0;
  Traffic whole;  // Data parallel: bytes that a worker sends per step.
  Traffic cut;    // The same with the shown cut.
  double whole_seconds = 0;
  double cut_seconds = 0;

  bool cuts(std::span<const Layer> layers) const { return kept < layers.size(); }
  // Factor by which the cut reduces traffic; 1 if there is no traffic.
  double traffic_ratio() const;
};

// REQUIRES: at least one layer.
LayerAdvice advise(std::span<const Layer> layers, const TrainingSetup& training);

// One sentence.
std::string advice_sentence(std::string_view model, std::span<const Layer> layers,
                            const LayerAdvice& advice);

// Returns the `skew` value of a profile: the largest layer's share of the parameters. The placement
// `skew` uses it to decide which jobs to keep on one node. Zero ("not stated") for a model that has
// a large layer but is not skewed, such as one with three equal layers.
double profile_skew(const LayerAdvice& advice);

}  // namespace muster
