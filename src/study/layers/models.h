#pragma once

// The layers of well-known image models: float32, ImageNet's 1000 classes. Layers without
// parameters are part of the previous one. Moving averages of batch normalization count as
// parameters in traffic, but the numbers of parameters below exclude them.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "study/layers/layer.h"

namespace muster {

// 227 x 227 images, no groups, convolutions of 64, 192, 384, 384 and 256: the AlexNet of
// TensorFlow's benchmarks, as listed by Tiresias. 61,838,248 parameters.
std::vector<Layer> alexnet();

// 224 x 224 images; 132,863,336, 138,357,544 and 143,667,240 parameters.
std::vector<Layer> vgg11();
std::vector<Layer> vgg16();
std::vector<Layer> vgg19();

// 224 x 224 images, stride in the first convolution of a block (ResNet50 then has 3.86 G
// multiply-adds, and 4.09 G with the stride in the second). 25,557,032, 44,549,160 and 60,192,808
// parameters, and 53,120, 105,344 and 151,424 moving averages.
std::vector<Layer> resnet50();
std::vector<Layer> resnet101();
std::vector<Layer> resnet152();

// 299 x 299 images, without the auxiliary head, which is used only in training. Version 3:
// 23,834,568 parameters and 34,432 moving averages. Version 4: 42,679,816 and 63,168.
std::vector<Layer> inception3();
std::vector<Layer> inception4();

// `usual_batch` is the number of samples per step and GPU in TensorFlow's benchmarks of 2017 on
// GPUs with 12 GB (docs_src/performance/benchmarks.md, K80), which is also the memory of a Titan
// Xp. vgg11 and vgg19 as vgg16; resnet101 and inception4 as in tf_cnn_benchmarks.
struct LayeredModel {
  std::string_view name;
  std::vector<Layer> (*layers)();
  std::int64_t usual_batch;
};

inline constexpr LayeredModel kLayeredModels[] = {
    {"alexnet", alexnet, 512},    {"vgg11", vgg11, 32},           {"vgg16", vgg16, 32},
    {"vgg19", vgg19, 32},         {"resnet50", resnet50, 64},     {"resnet101", resnet101, 32},
    {"resnet152", resnet152, 32}, {"inception3", inception3, 64}, {"inception4", inception4, 32},
};

// Finds a built-in model by name. The case of letters is ignored: "VGG16", "resnet-50".
std::optional<LayeredModel> find_layered_model(std::string_view name);

// Reduces a model to Tiresias' list of tensors: only weights, each rounded to 0.1 MiB, and only
// those above 1 MiB. Published traffic figures use this list.
std::vector<Layer> as_listed(std::vector<Layer> layers);

}  // namespace muster
