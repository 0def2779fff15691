#pragma once

// Output of `muster layers` for a model: a table of its layers, figures and advice, as text or as
// JSON.

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/terminal/terminal.h"
#include "study/layers/advice.h"
#include "study/layers/cut.h"
#include "study/layers/layer.h"

namespace muster {

// One model under one setup.
struct LayerStudy {
  std::string model;
  std::vector<Layer> layers;
  TrainingSetup training;
  LayerAdvice advice;
  // Seconds per step of an all-reduce between data parallel workers, one per node, in a ring.
  double all_reduce_seconds = 0;
};

LayerStudy study_layers(std::string model, std::vector<Layer> layers,
                        const TrainingSetup& training);

// Returns a table of the layers. Lines are at most `width` columns long if names and figures allow
// it. For a long model, the table only contains the largest layers.
std::string layers_table(const LayerStudy& study, std::size_t width, ColorMode colors);

// Returns one line per figure, without the advice.
std::string layers_figures(const LayerStudy& study);

nlohmann::ordered_json layers_json(const LayerStudy& study);
nlohmann::ordered_json layer_list_json(const LayerStudy& study);

// Returns a table with one line per model.
std::string models_table(std::span<const LayerStudy> studies, ColorMode colors);

}  // namespace muster
