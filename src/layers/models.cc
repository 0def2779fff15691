#include "layers/models.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace muster {

namespace {

constexpr std::int64_t kFloat = 4;

struct Convolution {
  const char* name;
  std::int64_t kernel;  // Side.
  std::int64_t inputs;
  std::int64_t outputs;
  std::int64_t side;    // Of the output.
  std::int64_t pooled;  // The same after the pooling that follows, if any.
};

struct Connected {
  const char* name;
  std::int64_t inputs;
  std::int64_t outputs;
};

constexpr Convolution kVgg16Convolutions[] = {
    {"conv1_1", 3, 3, 64, 224, 224},   {"conv1_2", 3, 64, 64, 224, 112},
    {"conv2_1", 3, 64, 128, 112, 112}, {"conv2_2", 3, 128, 128, 112, 56},
    {"conv3_1", 3, 128, 256, 56, 56},  {"conv3_2", 3, 256, 256, 56, 56},
    {"conv3_3", 3, 256, 256, 56, 28},  {"conv4_1", 3, 256, 512, 28, 28},
    {"conv4_2", 3, 512, 512, 28, 28},  {"conv4_3", 3, 512, 512, 28, 14},
    {"conv5_1", 3, 512, 512, 14, 14},  {"conv5_2", 3, 512, 512, 14, 14},
    {"conv5_3", 3, 512, 512, 14, 7},
};
constexpr Connected kVgg16Connected[] = {
    {"fc6", 25088, 4096}, {"fc7", 4096, 4096}, {"fc8", 4096, 1000}};

constexpr Convolution kAlexnetConvolutions[] = {
    {"conv1", 11, 3, 64, 55, 27},   {"conv2", 5, 64, 192, 27, 13}, {"conv3", 3, 192, 384, 13, 13},
    {"conv4", 3, 384, 384, 13, 13}, {"conv5", 3, 384, 256, 13, 6},
};
constexpr Connected kAlexnetConnected[] = {
    {"fc6", 9216, 4096}, {"fc7", 4096, 4096}, {"fc8", 4096, 1000}};

// `vectors` numbers are learnt for each output channel: one of a bias, four of batch normalisation
// (scale, offset, moving mean and variance). `beside` numbers go round the layer.
Layer convolution(std::string name, const Convolution& c, std::int64_t vectors,
                  std::int64_t beside) {
  const std::int64_t weights = c.kernel * c.kernel * c.inputs * c.outputs;
  return {std::move(name), kFloat * weights, kFloat * vectors * c.outputs,
          kFloat * (c.pooled * c.pooled * c.outputs + beside), weights * c.side * c.side};
}

Layer connected(const Connected& c) {
  const std::int64_t weights = c.inputs * c.outputs;
  return {c.name, kFloat * weights, kFloat * c.outputs, kFloat * c.outputs, weights};
}

template <class Convolutions, class Connecteds>
std::vector<Layer> plain_model(const Convolutions& convolutions, const Connecteds& connecteds) {
  std::vector<Layer> layers;
  for (const Convolution& c : convolutions) layers.push_back(convolution(c.name, c, 1, 0));
  for (const Connected& c : connecteds) layers.push_back(connected(c));
  return layers;
}

}  // namespace

std::vector<Layer> vgg16() { return plain_model(kVgg16Convolutions, kVgg16Connected); }

std::vector<Layer> alexnet() { return plain_model(kAlexnetConvolutions, kAlexnetConnected); }

std::vector<Layer> resnet50() {
  struct Stage {
    std::int64_t blocks;
    std::int64_t width;
    std::int64_t side;
  };
  constexpr Stage kStages[] = {{3, 64, 56}, {4, 128, 28}, {6, 256, 14}, {3, 512, 7}};
  constexpr std::int64_t kNormalisation = 4;

  std::vector<Layer> layers;
  const auto add = [&](std::string name, const Convolution& c, std::int64_t beside) {
    layers.push_back(convolution(std::move(name), c, kNormalisation, beside));
  };
  add("conv1", {"", 7, 3, 64, 112, 56}, 0);
  std::int64_t inputs = 64;
  std::int64_t input_side = 56;
  for (int stage = 2; const Stage& s : kStages) {
    const std::int64_t outputs = 4 * s.width;
    const std::int64_t shortcut = s.side * s.side * outputs;
    for (std::int64_t block = 1; block <= s.blocks; ++block) {
      const std::string name = fmt::format("conv{}_{}", stage, block);
      const bool last = stage == 5 && block == s.blocks;
      if (block == 1) {  // The shortcut has a layer of its own; the block's input goes round that.
        add(name + "/shortcut", {"", 1, inputs, outputs, s.side, s.side},
            input_side * input_side * inputs);
      }
      add(name + "/1", {"", 1, inputs, s.width, s.side, s.side}, shortcut);
      add(name + "/2", {"", 3, s.width, s.width, s.side, s.side}, shortcut);
      // The last is averaged to one number a channel.
      add(name + "/3", {"", 1, s.width, outputs, s.side, last ? 1 : s.side}, 0);
      inputs = outputs;
      input_side = s.side;
    }
    ++stage;
  }
  layers.push_back(connected({"fc", 2048, 1000}));
  return layers;
}

}  // namespace muster
