#pragma once

// All there is to say about one model under one training setup: how uneven its layers are, where to
// cut it or not, what both ways send and how long a step keeps the parameter server busy, and one
// sentence of advice.

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
  std::size_t with_parameters = 0;  // Layers that have any.
  std::size_t largest = 0;          // Which layer has most; the first on ties.
  LayerSkew skew;
  // Layers to keep on the workers; all of them is plain data parallel training.
  std::size_t kept = 0;
  // The cut that the figures are of: the advised one, or for a model left alone the one in front of
  // its fully connected end, for comparison. All layers if there is none.
  std::size_t shown = 0;
  Traffic whole;  // Data parallel: what a worker sends a step.
  Traffic cut;    // The same with the shown cut.
  double whole_seconds = 0;
  double cut_seconds = 0;

  bool cuts(std::span<const Layer> layers) const { return kept < layers.size(); }
  // How many times less the cut sends; 1 if there is nothing to send.
  double traffic_ratio() const;
};

// Wants at least one layer.
LayerAdvice advise(std::span<const Layer> layers, const TrainingSetup& training);

// One sentence.
std::string advice_sentence(std::string_view model, std::span<const Layer> layers,
                            const LayerAdvice& advice);

// What a profile should say of the model: the largest layer's part, by which the placement `skew`
// tells who wants to be together. Zero, "not stated", for a model that has a large layer but is not
// skewed, such as one of three equal ones.
double profile_skew(const LayerAdvice& advice);

}  // namespace muster
