#pragma once

// What `muster layers` shows of a model: for people a table of its layers, figures and advice; for
// programs the same as JSON.

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
};

LayerStudy study_layers(std::string model, std::vector<Layer> layers,
                        const TrainingSetup& training);

// No line is longer than `width`, if names and figures leave it that choice. Of a long model only
// the largest layers are shown.
std::string layers_table(const LayerStudy& study, std::size_t width, Ink ink);

// A line a figure, without the advice.
std::string layers_figures(const LayerStudy& study);

nlohmann::ordered_json layers_json(const LayerStudy& study);
nlohmann::ordered_json layer_list_json(const LayerStudy& study);

// A line a model, to compare them.
std::string models_table(std::span<const LayerStudy> studies, Ink ink);

}  // namespace muster
