#include "study/layers/advice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "study/layers/models.h"

namespace muster {
namespace {

LayerAdvice advised(const std::vector<Layer>& layers) { return advise(layers, TrainingSetup()); }

// "9.0", "1.08".
std::string ratio(const std::vector<Layer>& layers) {
  const double value = advised(layers).traffic_ratio();
  return fmt::format("{:.{}f}", value, value < 2 ? 2 : 1);
}

// F of the sources: VGG16 and AlexNet as listed by Tiresias, ResNet50 whole.
TEST(LayerAdvice, RatiosOfTheSources) {
  EXPECT_EQ(ratio(as_listed(vgg16())), "9.0");
  EXPECT_EQ(ratio(as_listed(alexnet())), "17.7");
  EXPECT_EQ(ratio(resnet50()), "1.08");
  EXPECT_EQ(ratio(vgg16()), "8.9");
  EXPECT_EQ(ratio(alexnet()), "17.7");
}

TEST(LayerAdvice, CutsTheSkewedModelsAlone) {
  for (const LayeredModel& model : kLayeredModels) {
    const std::vector<Layer> layers = model.layers();
    const LayerAdvice advice = advised(layers);
    const bool skewed = model.name.starts_with("vgg") || model.name == "alexnet";
    EXPECT_EQ(advice.cuts(layers), skewed) << model.name;
    EXPECT_EQ(advice.skew.is_skewed(), skewed) << model.name;
    EXPECT_EQ(layers[advice.shown].name.substr(0, 2), "fc") << model.name;
    EXPECT_EQ(profile_skew(advice) > 0.3, skewed) << model.name;
    EXPECT_LE(advice.cut_seconds, advice.whole_seconds) << model.name;
  }
}

TEST(LayerAdvice, SaysItInOneSentence) {
  const std::vector<Layer> vgg = vgg16();
  EXPECT_EQ(advice_sentence("vgg16", vgg, advised(vgg)),
            "Keep fc6, fc7 and fc8 of vgg16 only on the parameter server and train the 13 layers "
            "before data parallel: a step sends 8.9 times less and occupies the parameter server "
            "8.9 times "
            "less.");
  const std::vector<Layer> resnet = resnet50();
  EXPECT_EQ(advice_sentence("resnet50", resnet, advised(resnet)),
            "Leave resnet50 data parallel: no layer dominates, the largest holds 9.2 % of the "
            "parameters, and a cut before its last layer would send only 1.08 times less.");
}

TEST(LayerAdvice, LeavesNormalSizesAlone) {
  const std::vector<Layer> normal = {
      {"a", 80, 0, 4, 999}, {"b", 100, 0, 4, 999}, {"c", 120, 0, 4, 999}};
  const LayerAdvice advice = advised(normal);
  EXPECT_FALSE(advice.cuts(normal));
  EXPECT_TRUE(advice.skew.one_dominates());
  EXPECT_EQ(profile_skew(advice), 0) << "or the placement would take it for skewed";
  EXPECT_EQ(advice_sentence("m", normal, advice),
            "Leave m data parallel: the sizes of its layers may be normally distributed.");

  const std::vector<Layer> two = {{"a", 10, 0, 4, 999}, {"b", 990, 0, 4, 9}};
  EXPECT_EQ(
      advice_sentence("m", two, advised(two)),
      "Leave m data parallel: fewer than three layers have parameters, though a cut before its "
      "last layer would send 7.25 times less.");
  const std::vector<Layer> none = {{"relu", 0, 0, 4, 0}};
  EXPECT_EQ(advice_sentence("m", none, advised(none)),
            "Leave m data parallel: it has no parameters to send.");
  EXPECT_EQ(advised(none).traffic_ratio(), 1);
}

TEST(LayerAdvice, SkewedButNotWorthACut) {
  TrainingSetup slow;
  slow.macs_per_second = 1e9;
  const std::vector<Layer> layers = vgg16();
  const LayerAdvice advice = advise(layers, slow);
  EXPECT_FALSE(advice.cuts(layers));
  EXPECT_TRUE(advice_sentence("vgg16", layers, advice)
                  .starts_with("Leave vgg16 data parallel: it is skewed, but no cut makes a step "
                               "shorter here"));
  EXPECT_NEAR(profile_skew(advice), 0.743, 1e-9) << "it should stay on one node anyway";
}

TEST(LayerAdvice, ShareJustAboveTheLimitIsNotRoundedAway) {
  std::vector<Layer> layers = {{"big", 30'001, 0, 4, 1}};
  for (int i = 0; i < 69'999; ++i) layers.push_back({"small", 1, 0, 4, 1});
  const LayerAdvice advice = advised(layers);
  ASSERT_TRUE(advice.skew.is_skewed());
  EXPECT_EQ(profile_skew(advice), 0.301);
}

}  // namespace
}  // namespace muster
