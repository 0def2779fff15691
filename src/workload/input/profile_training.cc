#include "workload/input/profile_training.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace muster {

namespace {

constexpr Bounds kScalingPart = {0, 1e6};
constexpr double kMinScaling = 1e-6;  // Minimum sum of the parts, which is a divisor.
constexpr Bounds kLoss = {0, 1e6};
constexpr Bounds kRecordedLoss = {1e-9, 1e6};
constexpr Bounds kRecordedEpochs = {1, 1e6};
constexpr std::size_t kMinLossPoints = 2;
constexpr std::size_t kMaxLossPoints = 1000;
constexpr Bounds kLossB1 = {1e-6, 1e6};  // Above 0, so that the initial loss is finite.
constexpr Bounds kGpuUse = {0.001, 1};
constexpr Bounds kParametersMb = {0.001, 1e9};
constexpr Bounds kComputeSeconds = {1e-6, 1e5};

constexpr std::array<std::string_view, 3> kScalingKeys = {"compute", "fixed", "each"};
constexpr std::array<std::string_view, 5> kLossKeys = {"b0", "b1", "b2", "points", "epochs"};

void read_exchange(ItemReader& reader, const Item& entry, Profile& profile) {
  const Item* const parameters = entry.find("parameters_mb");
  const Item* const compute = entry.find("compute_seconds");
  if (parameters == nullptr) {
    if (compute != nullptr) reader.refuse(*compute, "requires 'parameters_mb'");
    return;
  }
  const double mib = reader.number(*parameters, kParametersMb);
  const double seconds =
      compute != nullptr ? reader.number(*compute, kComputeSeconds) : profile.iteration_seconds();
  if (compute == nullptr && seconds <= 0) {
    reader.refuse(*parameters, "requires 'compute_seconds' or 'iteration_seconds'");
  }
  profile.state_exchange({mib * 1024 * 1024, seconds});
}

LossFacts loss_formula(ItemReader& reader, const Item& loss) {
  if (const Item* epochs = loss.find("epochs")) reader.refuse(*epochs, "requires 'points'");
  return {reader.number(reader.member(loss, "b0"), kLoss),
          reader.number(reader.member(loss, "b1"), kLossB1),
          reader.number_or(loss, "b2", kLoss, 0)};
}

LossFacts recorded_loss(ItemReader& reader, const Item& loss, const Item& points) {
  for (const std::string_view key : {"b0", "b1", "b2"}) {
    if (const Item* item = loss.find(key)) reader.refuse(*item, "cannot be used with 'points'");
  }
  reader.expect_list(points);
  LossFacts facts;
  if (points.items.size() < kMinLossPoints || points.items.size() > kMaxLossPoints) {
    reader.refuse(points, fmt::format("must have {} to {} losses, but has {}", kMinLossPoints,
                                      kMaxLossPoints, points.items.size()));
    return facts;
  }
  for (const Item& point : points.items) {
    facts.points.push_back(reader.number(point, kRecordedLoss));
  }
  facts.epochs = reader.number_or(loss, "epochs", kRecordedEpochs,
                                  static_cast<double>(facts.points.size() - 1));
  return facts;
}

}  // namespace

void read_training(ItemReader& reader, const Item& entry, Profile& profile) {
  if (const Item* scaling = entry.find("scaling")) {
    reader.allow_keys(*scaling, kScalingKeys);
    const Scaling out = {reader.number(reader.member(*scaling, "compute"), kScalingPart),
                         reader.number_or(*scaling, "fixed", kScalingPart, 0),
                         reader.number_or(*scaling, "each", kScalingPart, 0)};
    if (out.compute + out.fixed + out.each < kMinScaling) {
      reader.refuse(*scaling, fmt::format("the sum of 'compute', 'fixed' and 'each' is below {}",
                                          kMinScaling));
    }
    profile.state_scaling(out);
  }
  if (const Item* loss = entry.find("loss")) {
    reader.allow_keys(*loss, kLossKeys);
    const Item* const points = loss->find("points");
    profile.state_loss(points == nullptr ? loss_formula(reader, *loss)
                                         : recorded_loss(reader, *loss, *points));
  }
  profile.state_gpu_use(reader.number_or(entry, "gpu_use", kGpuUse, profile.gpu_use()));
  read_exchange(reader, entry, profile);
}

}  // namespace muster
