#include "study/layers/models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

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

// Parameters as PyTorch's implementations count them, moving averages as their buffers, and
// multiply-adds: those of ResNets with the stride in a block's first convolution.
TEST(LayerModels, TotalsAreTheKnownOnes) {
  struct Known {
    std::string_view name;
    std::size_t layers;
    std::int64_t parameters;
    std::int64_t moving_averages;
    double giga_macs;
  };
  constexpr Known kKnown[] = {
      {"alexnet", 8, 61'838'248, 0, 0.84},
      {"vgg11", 11, 132'863'336, 0, 7.61},
      {"vgg16", 16, 138'357'544, 0, 15.47},
      {"vgg19", 19, 143'667'240, 0, 19.63},
      {"resnet50", 54, 25'557'032, 53'120, 3.86},
      {"resnet101", 105, 44'549'160, 105'344, 7.57},
      {"resnet152", 156, 60'192'808, 151'424, 11.28},
      {"inception3", 95, 23'834'568, 34'432, 5.71},
      {"inception4", 150, 42'679'816, 63'168, 12.25},
  };
  EXPECT_EQ(std::size(kKnown), std::size(kLayeredModels));
  for (const Known& known : kKnown) {
    SCOPED_TRACE(known.name);
    const auto model = find_layered_model(known.name);
    ASSERT_TRUE(model.has_value());
    const std::vector<Layer> layers = model->layers();
    EXPECT_EQ(layers.size(), known.layers);
    EXPECT_EQ(totals(layers).numbers, known.parameters + known.moving_averages);
    EXPECT_NEAR(static_cast<double>(totals(layers).macs) / 1e9, known.giga_macs, 0.005);
  }
}

// C5 of the sources: tensors above 1 MB, their sum, the largest and its part.
TEST(LayerModels, TensorsAreThoseTiresiasLists) {
  struct Listed {
    std::string_view name;
    int tensors;
    double total;
    double largest;
    double share;
  };
  constexpr Listed kListed[] = {
      {"vgg19", 15, 547.1, 392.0, .717},   {"vgg16", 12, 526.8, 392.0, .744},
      {"vgg11", 9, 506.5, 392.0, .774},    {"alexnet", 7, 235.8, 144.0, .611},
      {"resnet152", 48, 149.6, 9.0, .060}, {"resnet101", 35, 119.7, 9.0, .075},
      {"resnet50", 18, 80.6, 9.0, .112},   {"inception4", 81, 132.8, 5.9, .044},
      {"inception3", 21, 56.6, 7.8, .138},
  };
  constexpr double kBytesPerMiB = 1024 * 1024;
  for (const Listed& listed : kListed) {
    SCOPED_TRACE(listed.name);
    int tensors = 0;
    double total = 0;
    double largest = 0;
    for (const Layer& layer : as_listed(find_layered_model(listed.name)->layers())) {
      const double size = static_cast<double>(layer.parameter_bytes()) / kBytesPerMiB;
      tensors += size > 0 ? 1 : 0;
      total += size;
      largest = std::max(largest, size);
    }
    EXPECT_EQ(tensors, listed.tensors);
    EXPECT_NEAR(total, listed.total, 0.05);
    EXPECT_NEAR(largest, listed.largest, 0.05);
    EXPECT_NEAR(largest / total, listed.share, 0.0005);
  }
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

// Inside a block several tensors cross: what comes round and what is already done.
TEST(LayerModels, BlocksAreCutBehindThemOnly) {
  const std::vector<Layer> resnet = resnet50();
  EXPECT_FALSE(named(resnet, "conv2_1/shortcut").may_cut_behind);
  EXPECT_FALSE(named(resnet, "conv2_1/2").may_cut_behind);
  EXPECT_TRUE(named(resnet, "conv2_1/3").may_cut_behind);
  const std::vector<Layer> inception = inception3();
  EXPECT_TRUE(named(inception, "conv4a").may_cut_behind);
  EXPECT_EQ(named(inception, "conv4a").output_bytes, 4 * 35 * 35 * 192);
  EXPECT_FALSE(named(inception, "mixed5b/1.1").may_cut_behind);
  EXPECT_EQ(named(inception, "mixed5b/1.1").output_bytes, 4 * 35 * 35 * (64 + 192));
  EXPECT_EQ(named(inception, "mixed5b/2.1").output_bytes, 4 * 35 * 35 * (48 + 64 + 192));
  EXPECT_EQ(named(inception, "mixed5b/3.3").output_bytes, 4 * 35 * 35 * (96 + 64 + 64 + 192));
  EXPECT_TRUE(named(inception, "mixed5b/4.1").may_cut_behind);
  EXPECT_EQ(named(inception, "mixed5b/4.1").output_bytes, 4 * 35 * 35 * 256);
  EXPECT_EQ(named(inception, "mixed6a/2.3").output_bytes, 4 * 17 * 17 * 768);
  // The first of two that read the same: that, the module's input, what was done, and itself.
  EXPECT_EQ(named(inception, "mixed7b/2.2").output_bytes, 4 * 8 * 8 * (384 + 1280 + 320 + 384));
  EXPECT_EQ(named(inception, "mixed7c/4.1").output_bytes, 4 * 2048);
  const std::vector<Layer> newer = inception4();
  EXPECT_EQ(named(newer, "mixed3a/1.1").output_bytes, 4 * 73 * 73 * 160);
  EXPECT_EQ(named(newer, "reduce_a/2.3").output_bytes, 4 * 17 * 17 * 1024);
  EXPECT_EQ(named(newer, "reduce_b/2.4").output_bytes, 4 * 8 * 8 * 1536);
  EXPECT_EQ(named(newer, "c3/4.1").output_bytes, 4 * 1536);
  // As many places to cut as modules, the stem, and the end.
  const auto places = [](const std::vector<Layer>& layers) {
    return std::count_if(layers.begin(), layers.end(),
                         [](const Layer& layer) { return layer.may_cut_behind; });
  };
  EXPECT_EQ(places(inception), 5 + 11 + 1);
  EXPECT_EQ(places(newer), 3 + 3 + 4 + 1 + 7 + 1 + 3 + 1);
}

TEST(LayerModels, AreFoundAsPeopleWriteThem) {
  EXPECT_EQ(find_layered_model("VGG-16")->name, "vgg16");
  EXPECT_EQ(find_layered_model("ResNet_50")->name, "resnet50");
  EXPECT_EQ(find_layered_model("Inception-4")->name, "inception4");
  EXPECT_FALSE(find_layered_model("vgg61").has_value());
  EXPECT_FALSE(find_layered_model("").has_value());
}

}  // namespace
}  // namespace muster
