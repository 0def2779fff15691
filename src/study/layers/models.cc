#include "study/layers/models.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "base/text/text.h"
#include "study/layers/building.h"

namespace muster {

namespace {

// The three fully connected layers at the end of AlexNet and the VGGs.
void add_connected_end(std::vector<Layer>& layers, std::int64_t inputs) {
  layers.push_back(linear_layer("fc6", inputs, 4096));
  layers.push_back(linear_layer("fc7", 4096, 4096));
  layers.push_back(linear_layer("fc8", 4096, 1000));
}

// Five stages with the given numbers of 3 x 3 convolutions; each stage halves the side.
std::vector<Layer> vgg(const std::array<int, 5>& convolutions) {
  constexpr std::array<std::int64_t, 5> kWidths = {64, 128, 256, 512, 512};
  std::vector<Layer> layers;
  std::int64_t inputs = 3;
  std::int64_t side = 224;
  for (std::size_t stage = 0; stage < kWidths.size(); ++stage) {
    for (int i = 1; i <= convolutions[stage]; ++i) {
      const std::int64_t pooled = i == convolutions[stage] ? side / 2 : side;
      layers.push_back(convolution_layer(fmt::format("conv{}_{}", stage + 1, i),
                                         {9, inputs, kWidths[stage], side, pooled}, kBias));
      inputs = kWidths[stage];
    }
    side /= 2;
  }
  add_connected_end(layers, inputs * side * side);
  return layers;
}

// Four stages with the given numbers of blocks, each of 1 x 1, 3 x 3 and 1 x 1.
std::vector<Layer> resnet(const std::array<int, 4>& blocks) {
  std::vector<Layer> layers;
  const auto add = [&](std::string name, const Convolution& c, std::int64_t beside) {
    layers.push_back(convolution_layer(std::move(name), c, kNormalisation, beside));
  };
  add("conv1", {49, 3, 64, 112, 56}, 0);
  std::int64_t inputs = 64;
  std::int64_t input_side = 56;
  std::int64_t width = 64;
  std::int64_t side = 56;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const std::int64_t outputs = 4 * width;
    const std::int64_t shortcut = side * side * outputs;
    for (int block = 1; block <= blocks[stage]; ++block) {
      const std::string name = fmt::format("conv{}_{}", stage + 2, block);
      const bool last = stage + 1 == blocks.size() && block == blocks[stage];
      if (block == 1) {  // The shortcut is a separate layer, which the block's input bypasses.
        add(name + "/shortcut", {1, inputs, outputs, side, side}, input_side * input_side * inputs);
      }
      add(name + "/1", {1, inputs, width, side, side}, shortcut);
      add(name + "/2", {9, width, width, side, side}, shortcut);
      // The last output is averaged to one number per channel.
      add(name + "/3", {1, width, outputs, side, last ? 1 : side}, 0);
      inputs = outputs;
      input_side = side;
    }
    width *= 2;
    side /= 2;
  }
  layers.push_back(linear_layer("fc", inputs, 1000));
  return layers;
}

// Lower case, without separators between a name and its number.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == '-' || c == '_') continue;
    plain += lower(c);
  }
  return plain;
}

}  // namespace

std::vector<Layer> alexnet() {
  std::vector<Layer> layers;
  layers.push_back(convolution_layer("conv1", {121, 3, 64, 55, 27}, kBias));
  layers.push_back(convolution_layer("conv2", {25, 64, 192, 27, 13}, kBias));
  layers.push_back(convolution_layer("conv3", {9, 192, 384, 13, 13}, kBias));
  layers.push_back(convolution_layer("conv4", {9, 384, 384, 13, 13}, kBias));
  layers.push_back(convolution_layer("conv5", {9, 384, 256, 13, 6}, kBias));
  add_connected_end(layers, 9216);
  return layers;
}

std::vector<Layer> vgg11() { return vgg({1, 1, 2, 2, 2}); }
std::vector<Layer> vgg16() { return vgg({2, 2, 3, 3, 3}); }
std::vector<Layer> vgg19() { return vgg({2, 2, 4, 4, 4}); }

std::vector<Layer> resnet50() { return resnet({3, 4, 6, 3}); }
std::vector<Layer> resnet101() { return resnet({3, 4, 23, 3}); }
std::vector<Layer> resnet152() { return resnet({3, 8, 36, 3}); }

std::optional<LayeredModel> find_layered_model(std::string_view name) {
  const std::string wanted = plain_name(name);
  for (const LayeredModel& model : kLayeredModels) {
    if (model.name == wanted) return model;
  }
  return std::nullopt;
}

std::vector<Layer> as_listed(std::vector<Layer> layers) {
  constexpr double kMiB = 1024 * 1024;
  for (Layer& layer : layers) {
    const double tenths = std::round(10 * static_cast<double>(layer.weight_bytes) / kMiB);
    layer.weight_bytes = tenths <= 10 ? 0 : std::llround(tenths / 10 * kMiB);
    layer.other_bytes = 0;
  }
  return layers;
}

}  // namespace muster
