#include "layers/models.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace muster {
namespace {

struct Totals {
  std::int64_t numbers = 0;  // Learnt ones.
  std::int64_t macs = 0;
};

Totals totals(const std::vector<Layer>& layers) {
  Totals sum;
  for (const Layer& layer : layers) {
    EXPECT_EQ(layer.parameter_bytes() % 4, 0);
    sum.numbers += layer.parameter_bytes() / 4;
    sum.macs += layer.macs;
  }
  return sum;
}

const Layer& named(const std::vector<Layer>& layers, std::string_view name) {
  for (const Layer& layer : layers) {
    if (layer.name == name) return layer;
  }
  ADD_FAILURE() << name;
  return layers.front();
}

TEST(LayerModels, TotalsAreTheKnownOnes) {
  EXPECT_EQ(vgg16().size(), 16u);
  EXPECT_EQ(totals(vgg16()).numbers, 138'357'544);
  EXPECT_NEAR(static_cast<double>(totals(vgg16()).macs), 15.5e9, 0.05e9);

  EXPECT_EQ(alexnet().size(), 8u);
  EXPECT_EQ(totals(alexnet()).numbers, 61'838'248);

  EXPECT_EQ(resnet50().size(), 54u);
  EXPECT_EQ(totals(resnet50()).numbers, 25'557'032 + 53'120);
  EXPECT_NEAR(static_cast<double>(totals(resnet50()).macs), 3.8e9, 0.1e9);  // "3.8 billion".
}

TEST(LayerModels, LargestTensors) {
  EXPECT_EQ(named(vgg16(), "fc6").weight_bytes, 392 << 20);
  EXPECT_EQ(named(alexnet(), "fc6").weight_bytes, 144 << 20);
  EXPECT_EQ(named(resnet50(), "conv5_2/2").weight_bytes, 9 << 20);
}

TEST(LayerModels, WhatCrossesACut) {
  EXPECT_EQ(named(vgg16(), "conv5_3").output_bytes, 4 * 25088);
  EXPECT_EQ(named(alexnet(), "conv5").output_bytes, 4 * 9216);
  const std::vector<Layer> layers = resnet50();
  EXPECT_EQ(named(layers, "conv1").output_bytes, 4 * 56 * 56 * 64);
  EXPECT_EQ(named(layers, "conv2_1/shortcut").output_bytes, 4 * 56 * 56 * (256 + 64));
  EXPECT_EQ(named(layers, "conv2_1/1").output_bytes, 4 * 56 * 56 * (64 + 256));
  EXPECT_EQ(named(layers, "conv2_1/3").output_bytes, 4 * 56 * 56 * 256);
  EXPECT_EQ(named(layers, "conv3_1/shortcut").output_bytes, 4 * (28 * 28 * 512 + 56 * 56 * 256));
  EXPECT_EQ(named(layers, "conv5_3/3").output_bytes, 4 * 2048);
  EXPECT_EQ(named(layers, "fc").output_bytes, 4 * 1000);
}

TEST(LayerModels, TableNamesThem) {
  for (const LayeredModel& model : kLayeredModels) EXPECT_FALSE(model.layers().empty());
}

}  // namespace
}  // namespace muster
