#pragma once

// The layers of well-known image models: float32, ImageNet's 1000 classes. Layers without
// parameters are part of the one before them.

#include <string_view>
#include <vector>

#include "layers/layer.h"

namespace muster {

// 224 x 224 images; 138,357,544 parameters.
std::vector<Layer> vgg16();

// 227 x 227 images, no groups, convolutions of 64, 192, 384, 384 and 256: the AlexNet of
// TensorFlow's benchmarks, whose tensors Tiresias lists; 61,838,248 parameters.
std::vector<Layer> alexnet();

// 224 x 224 images, stride in the first convolution of a block; 25,557,032 parameters, and 53,120
// moving averages of batch normalisation, which travel like parameters and are counted as such.
std::vector<Layer> resnet50();

struct LayeredModel {
  std::string_view name;
  std::vector<Layer> (*layers)();
};

inline constexpr LayeredModel kLayeredModels[] = {
    {"alexnet", alexnet},
    {"resnet50", resnet50},
    {"vgg16", vgg16},
};

}  // namespace muster
