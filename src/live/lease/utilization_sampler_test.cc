#include "live/lease/utilization_sampler.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

UtilizationSampler::Clock::time_point at(int seconds) {
  return UtilizationSampler::Clock::time_point(std::chrono::seconds(seconds));
}

// Job 7's first lease may use two CPUs.
MachineUse used(double cpu_s) {
  MachineUse use;
  use.gpus = {0.5};
  use.parts = {{7, 1, 0, cpu_s, 2'000}};
  return use;
}

TEST(UtilizationSampler, TellsWhatWasUsedSinceTheLastLook) {
  UtilizationSampler watch;
  EXPECT_EQ(watch.look(used(100), at(0)).cpus.at({7, 1}), std::vector<double>{-1});
  EXPECT_EQ(watch.look(used(105), at(5)).cpus.at({7, 1}), std::vector<double>{0.5});
  EXPECT_EQ(watch.look(used(205), at(10)).cpus.at({7, 1}), std::vector<double>{1});
}

TEST(UtilizationSampler, SaysNothingOfHours) {
  UtilizationSampler watch;
  watch.look(used(100), at(0));
  const UseSample late = watch.look(used(3'700), at(3'600));
  EXPECT_EQ(late.cpus.at({7, 1}), std::vector<double>{-1});
  EXPECT_EQ(late.gpus, std::vector<double>{0.5}) << "which are sampled now";
  EXPECT_EQ(watch.look(used(3'710), at(3'605)).cpus.at({7, 1}), std::vector<double>{1});
}

TEST(UtilizationSampler, ForgetsValuesButNotWhatThereIs) {
  UtilizationSampler watch;
  const UseSample nothing = forgotten(watch.look(used(100), at(0)));
  EXPECT_EQ(nothing.gpus, std::vector<double>{-1});
  EXPECT_TRUE(nothing.cpus.empty());
}

}  // namespace
}  // namespace muster
