#pragma once

// The layers of well-known image models: float32, ImageNet's 1000 classes. Layers without
// parameters are part of the one before them. Moving averages of batch normalisation travel like
// parameters and are counted as such; the numbers of parameters below are without them.

#include <optional>
#include <string_view>
#include <vector>

#include "study/layers/layer.h"

namespace muster {

// 227 x 227 images, no groups, convolutions of 64, 192, 384, 384 and 256: the AlexNet of
// TensorFlow's benchmarks, whose tensors Tiresias lists; 61,838,248 parameters.
std::vector<Layer> alexnet();

// 224 x 224 images; 132,863,336, 138,357,544 and 143,667,240 parameters.
std::vector<Layer> vgg11();
std::vector<Layer> vgg16();
std::vector<Layer> vgg19();

// 224 x 224 images, stride in the first convolution of a block (ResNet50 then has 3.86 G
// multiply-adds, and 4.09 G with the stride in the second); 25,557,032, 44,549,160 and 60,192,808
// parameters, and 53,120, 105,344 and 151,424 moving averages.
std::vector<Layer> resnet50();
std::vector<Layer> resnet101();
std::vector<Layer> resnet152();

// 299 x 299 images; without the auxiliary head, which only training has. 23,834,568 parameters and
// 34,432 moving averages in version 3, 42,679,816 and 63,168 in version 4.
std::vector<Layer> inception3();
std::vector<Layer> inception4();

struct LayeredModel {
  std::string_view name;
  std::vector<Layer> (*layers)();
};

inline constexpr LayeredModel kLayeredModels[] = {
    {"alexnet", alexnet},     {"vgg11", vgg11},           {"vgg16", vgg16},
    {"vgg19", vgg19},         {"resnet50", resnet50},     {"resnet101", resnet101},
    {"resnet152", resnet152}, {"inception3", inception3}, {"inception4", inception4},
};

// The built-in model of that name, however its letters are cased: "VGG16", "resnet-50".
std::optional<LayeredModel> find_layered_model(std::string_view name);

// The model as Tiresias' list of tensors has it: weights alone, each rounded to 0.1 MiB, and
// of those the ones above 1 MiB. Published figures of traffic are counted so.
std::vector<Layer> as_listed(std::vector<Layer> layers);

}  // namespace muster
