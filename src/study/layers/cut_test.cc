#include "study/layers/cut.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "study/layers/models.h"

namespace muster {
namespace {

constexpr double kMiB = 1024 * 1024;

std::vector<Layer> sized(const std::vector<std::int64_t>& bytes) {
  std::vector<Layer> layers;
  layers.reserve(bytes.size());
  for (const std::int64_t size : bytes) layers.push_back({"", size, 0, 1, 1});
  return layers;
}

std::string last_kept(const std::vector<Layer>& layers) {
  return layers[advised_cut(layers, TrainingSetup()) - 1].name;
}

// "526.8 -> 55.2 + 3.1 = 58.3 (9.0x)": MiB that a worker sends per step of 32 samples, data
// parallel and cut behind the layer of that name.
std::string figures(const std::vector<Layer>& layers, std::string_view last) {
  std::size_t kept = 1;
  while (layers[kept - 1].name != last) ++kept;
  const auto whole = static_cast<double>(traffic_of(layers, layers.size(), 32).total());
  const Traffic cut = traffic_of(layers, kept, 32);
  const auto total = static_cast<double>(cut.total());
  return fmt::format("{:.1f} -> {:.1f} + {:.2g} = {:.1f} ({:.{}f}x)", whole / kMiB,
                     static_cast<double>(cut.parameters) / kMiB,
                     static_cast<double>(cut.activations) / kMiB, total / kMiB, whole / total,
                     whole / total < 2 ? 2 : 1);
}

// F of the sources, to the printed digits. MB is 2^20; the cut is before the first fully connected
// layer; the factor 2 W, the same on both sides, is omitted. VGG16 and AlexNet are there as listed
// by Tiresias, whose roundings add up to 0.1 MB, and ResNet50 whole, with its moving averages.
TEST(Sanity, J8_RalpCutRatios) {
  EXPECT_EQ(figures(as_listed(vgg16()), "conv5_3"), "526.8 -> 55.2 + 3.1 = 58.3 (9.0x)");
  EXPECT_EQ(figures(as_listed(alexnet()), "conv5"), "235.8 -> 12.2 + 1.1 = 13.3 (17.7x)");
  EXPECT_EQ(figures(resnet50(), "conv5_3/3"), "97.7 -> 89.9 + 0.25 = 90.1 (1.08x)");

  // The same with every parameter and no rounding.
  EXPECT_EQ(figures(vgg16(), "conv5_3"), "527.8 -> 56.1 + 3.1 = 59.2 (8.9x)");
  EXPECT_EQ(figures(alexnet(), "conv5"), "235.9 -> 12.2 + 1.1 = 13.4 (17.7x)");

  for (const auto& view : {as_listed(vgg16()), vgg16()}) EXPECT_EQ(last_kept(view), "conv5_3");
  for (const auto& view : {as_listed(alexnet()), alexnet()}) EXPECT_EQ(last_kept(view), "conv5");
  EXPECT_EQ(last_kept(resnet50()), "fc");  // Left data parallel.
}

TEST(Cut, SkewOfTheModels) {
  const LayerSkew listed = skew_of(as_listed(alexnet()));
  EXPECT_NEAR(listed.g1, 1.47, 0.005);  // C5 of the sources, as is the share.
  EXPECT_NEAR(listed.largest_share, 0.611, 0.0005);
  EXPECT_TRUE(listed.is_skewed());
  EXPECT_TRUE(skew_of(alexnet()).is_skewed());
  EXPECT_TRUE(skew_of(vgg16()).is_skewed());
  EXPECT_NEAR(skew_of(vgg16()).largest_share, 0.743, 0.0005);

  // Far from normal, but no layer dominates.
  const LayerSkew resnet = skew_of(resnet50());
  EXPECT_GT(resnet.g1, 1.96 * resnet.standard_error);
  EXPECT_NEAR(resnet.largest_share, 0.092, 0.0005);
  EXPECT_FALSE(resnet.is_skewed());
}

TEST(Cut, NothingToCut) {
  EXPECT_EQ(advised_cut({}, TrainingSetup()), 0u);
  EXPECT_EQ(best_cut({}, TrainingSetup()), 0u);
  EXPECT_EQ(traffic_of({}, 0, 32).total(), 0);
  EXPECT_FALSE(skew_of({}).is_skewed());
  for (const std::size_t count : {1u, 2u}) {
    const std::vector<Layer> few = sized(std::vector<std::int64_t>(count, 1 << 20));
    EXPECT_EQ(advised_cut(few, TrainingSetup()), count);
    EXPECT_FALSE(skew_of(few).is_skewed());
  }
}

TEST(Cut, EvenLayersStayDataParallel) {
  const std::vector<Layer> even = sized({1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20});
  EXPECT_EQ(skew_of(even).g1, 0);
  EXPECT_LT(best_cut(even, TrainingSetup()), even.size());  // A cut would pay...
  EXPECT_EQ(advised_cut(even, TrainingSetup()), even.size());
}

TEST(Cut, LayersWithoutParametersDoNotCount) {
  const LayerSkew plain = skew_of(sized({1, 2, 3, 4, 100}));
  const LayerSkew padded = skew_of(sized({0, 1, 2, 0, 0, 3, 4, 100, 0}));
  EXPECT_EQ(plain.g1, padded.g1);
  EXPECT_EQ(plain.standard_error, padded.standard_error);
  EXPECT_EQ(plain.largest_share, padded.largest_share);
}

TEST(Cut, ComputingHoldsLayersBack) {
  // By traffic alone VGG16 would be cut far earlier, but one server cannot compute convolutions for
  // all workers. The slower it is, the less it is given, in the end nothing.
  TrainingSetup training;
  training.macs_per_second = 1e18;
  const std::vector<Layer> layers = vgg16();
  EXPECT_EQ(layers[best_cut(layers, training) - 1].name, "conv3_3");
  training.macs_per_second = 3e12;
  EXPECT_EQ(layers[best_cut(layers, training) - 1].name, "conv5_3");
  training.macs_per_second = 1e9;
  EXPECT_EQ(best_cut(layers, training), layers.size());
}

// Only where one tensor crosses.
TEST(Cut, BranchesAreNotCut) {
  std::vector<Layer> layers = vgg16();
  layers[12].may_cut_behind = false;  // conv5_3, the best place.
  EXPECT_EQ(layers[best_cut(layers, TrainingSetup()) - 1].name, "conv5_2");
  EXPECT_EQ(layers[connected_end(layers) - 1].name, "fc6");
  for (Layer& layer : layers) layer.may_cut_behind = false;
  EXPECT_EQ(best_cut(layers, TrainingSetup()), layers.size());
  EXPECT_EQ(connected_end(layers), layers.size());
}

TEST(Cut, ConnectedEnd) {
  for (const LayeredModel& model : kLayeredModels) {
    const std::vector<Layer> layers = model.layers();
    const std::size_t kept = connected_end(layers);
    EXPECT_EQ(layers[kept - 1].type, "conv") << model.name;
    EXPECT_EQ(layers[kept].type, "linear") << model.name;
  }
  EXPECT_EQ(connected_end({}), 0u);
  const std::vector<Layer> all = {{"a", 40, 0, 4, 10}, {"b", 40, 0, 4, 10}};
  EXPECT_EQ(connected_end(all), 1u) << "the input comes to the workers";
  const std::vector<Layer> normalised = {
      {"conv", 40, 0, 64, 999}, {"norm", 8, 0, 16, 0}, {"fc", 80, 0, 4, 20}, {"soft", 0, 0, 4, 0}};
  EXPECT_EQ(connected_end(normalised), 2u);
}

TEST(Cut, StepIsTheSlowerOfLinkAndComputing) {
  const std::vector<Layer> layers = {{"a", 10, 2, 5, 7}, {"b", 90, 10, 1, 100}};
  TrainingSetup training{
      .workers = 4, .batch = 2, .link_bytes_per_second = 1, .macs_per_second = 1e6};
  EXPECT_EQ(traffic_of(layers, 1, 2).parameters, 12);
  EXPECT_EQ(traffic_of(layers, 1, 2).activations, 10);
  EXPECT_DOUBLE_EQ(step_seconds(layers, 2, training), 2 * 4 * 112);
  EXPECT_DOUBLE_EQ(step_seconds(layers, 1, training), 2 * 4 * 22);
  training.macs_per_second = 1;
  EXPECT_DOUBLE_EQ(step_seconds(layers, 1, training), 3 * 4 * 2 * 100);
  EXPECT_DOUBLE_EQ(step_seconds(layers, 2, training), 2 * 4 * 112);
}

TEST(Cut, HugeBatchesDoNotOverflow) {
  const std::vector<Layer> layers = vgg16();
  const TrainingSetup training{.batch = std::numeric_limits<std::int64_t>::max()};
  EXPECT_EQ(advised_cut(layers, training), layers.size());
}

}  // namespace
}  // namespace muster
