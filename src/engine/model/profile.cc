#include "engine/model/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/types/check.h"

namespace muster {

namespace {

// Position of a value on an ascending axis: the neighboring points and the fraction between them.
// Values outside the axis are clamped to its ends.
struct AxisPosition {
  std::size_t low;
  std::size_t high;
  double fraction;
};

AxisPosition locate(const std::vector<std::int64_t>& axis, std::int64_t x) {
  if (x <= axis.front()) return {0, 0, 0.0};
  if (x >= axis.back()) return {axis.size() - 1, axis.size() - 1, 0.0};
  std::size_t high = 1;
  while (axis[high] <= x) ++high;  // Axes have about ten points, so a linear scan is fastest.
  const double span = static_cast<double>(axis[high] - axis[high - 1]);
  return {high - 1, high, static_cast<double>(x - axis[high - 1]) / span};
}

double matrix_speed(const SpeedMatrix& m, std::int64_t cpu_milli, std::int64_t mem_mib) {
  const AxisPosition row = locate(m.cpu_milli, cpu_milli);
  const AxisPosition column = locate(m.mem_mib, mem_mib);
  const std::size_t width = m.mem_mib.size();
  const auto along = [&](std::size_t r) {
    const double left = m.speed[r * width + column.low];
    const double right = m.speed[r * width + column.high];
    return left + (right - left) * column.fraction;
  };
  const double low = along(row.low);
  return row.fraction == 0.0 ? low : low + (along(row.high) - low) * row.fraction;
}

// Above the last point, the CPU term of the formula is not the bottleneck of any plausible model.
constexpr std::int64_t kFormulaCpuPoints[] = {500,  1000, 1500, 2000,  2500,  3000,  4000,
                                              5000, 6000, 8000, 10000, 12000, 16000, 24000};
constexpr int kFormulaMemPoints =
    11;  // Steps of a tenth of the data set, as in optimistic profiling.

// Fraction of the best speed that counts as full speed for ideal().
constexpr double kNearBest = 0.99;

// Curve of inception3 with batch size 128 on A100 GPUs, fitted to 1 to 16 GPUs. It is near the
// median of the 26 models that the ElasticFlow project measured on 4, 8 and 16 GPUs. Source:
// elasticflow_throughputs.csv (steps per second at a fixed global batch size).
constexpr Scaling kTypicalScaling = {0.90, 0.098, 0.0030};

}  // namespace

Profile::Profile() : scaling_(kTypicalScaling) {}

Profile Profile::unknown(std::string name) {
  Profile profile;
  profile.name_ = std::move(name);
  // Typical curve, not measured: falls from 2.2 towards 0.2. By the rule of Optimus it converges
  // after 38 training epochs.
  profile.loss_ = LossFacts{0.05, 0.5, 0.2};
  profile.cpu_points_ = {kReferenceShare.cpu_milli};
  profile.mem_points_ = {kReferenceShare.mem_mib};
  return profile;
}

Profile Profile::matrix(std::string name, SpeedMatrix matrix) {
  MUSTER_CHECK(!check_matrix(matrix));
  Profile profile;
  profile.kind_ = Kind::kMatrix;
  profile.name_ = std::move(name);
  profile.cpu_points_ = matrix.cpu_milli;
  profile.mem_points_ = matrix.mem_mib;
  profile.matrix_ = std::move(matrix);
  profile.find_ideal();
  return profile;
}

Profile Profile::cpu_curve(std::string name, std::vector<std::int64_t> cpu_milli,
                           std::vector<double> speed) {
  Profile profile = matrix(std::move(name), {std::move(cpu_milli), {1}, std::move(speed)});
  profile.memory_known_ = false;
  return profile;
}

Profile Profile::formula(std::string name, SpeedFormula formula) {
  Profile profile;
  profile.kind_ = Kind::kFormula;
  profile.name_ = std::move(name);
  profile.formula_ = formula;
  profile.reference_steps_per_second_ = profile.formula_steps_per_second(
      kReferenceShare.cpu_milli, kReferenceShare.mem_mib, kReferenceShare.storage_kbps);
  profile.iteration_seconds_ = 1.0 / profile.reference_steps_per_second_;
  profile.cpu_points_.assign(std::begin(kFormulaCpuPoints), std::end(kFormulaCpuPoints));
  for (int i = 0; i < kFormulaMemPoints; ++i) {
    const double cached = formula.dataset_mib * i / (kFormulaMemPoints - 1);
    const std::int64_t point = std::llround(formula.base_mem_mib + cached);
    if (profile.mem_points_.empty() || point > profile.mem_points_.back()) {
      profile.mem_points_.push_back(std::max<std::int64_t>(point, 1));
    }
  }
  profile.find_ideal();
  return profile;
}

double Profile::formula_steps_per_second(std::int64_t cpu_milli, std::int64_t mem_mib,
                                         std::int64_t storage_kbps) const {
  constexpr double kStarved = 1e6;  // Seconds per step without input data: practically no progress.
  const double cpus = static_cast<double>(cpu_milli) / 1000.0;
  const double mem = static_cast<double>(mem_mib);
  double step = std::max(formula_.gpu_seconds, 1e-9);
  if (formula_.cpu_seconds > 0) {
    step = std::max(step, cpus > 0 ? formula_.cpu_seconds / cpus : kStarved);
  }
  if (mem < formula_.base_mem_mib) step = std::max(step, kStarved);
  const double cache = std::max(0.0, mem - formula_.base_mem_mib);
  if (formula_.mib_per_step > 0 && formula_.dataset_mib > cache) {
    const double missed = formula_.mib_per_step * (1.0 - cache / formula_.dataset_mib);
    // 1 MB/s in user input means 1 MiB/s, as 1 GB means 1 GiB.
    const double mib_per_second = static_cast<double>(storage_kbps) / 1000.0;
    step = std::max(step, mib_per_second > 0 ? missed / mib_per_second : kStarved);
  }
  return 1.0 / step;
}

double Profile::speed(std::int64_t cpu_milli, std::int64_t mem_mib,
                      std::int64_t storage_kbps) const {
  switch (kind_) {
    case Kind::kMatrix:
      return matrix_speed(matrix_, cpu_milli, mem_mib);
    case Kind::kFormula:
      return formula_steps_per_second(cpu_milli, mem_mib, storage_kbps) /
             reference_steps_per_second_;
    case Kind::kScalar: {
      const std::int64_t above = cpu_milli - kReferenceShare.cpu_milli;
      const std::int64_t span = ideal_.cpu_milli - kReferenceShare.cpu_milli;
      if (above >= span) return stated_speedup_;
      if (above <= 0) return 1.0;
      return 1.0 + (stated_speedup_ - 1.0) * static_cast<double>(above) / static_cast<double>(span);
    }
    case Kind::kUnknown:
      break;
  }
  const auto part = [](std::int64_t have, std::int64_t want) {
    return have >= want ? 1.0 : static_cast<double>(have) / static_cast<double>(want);
  };
  return std::min(part(cpu_milli, kReferenceShare.cpu_milli),
                  part(mem_mib, kReferenceShare.mem_mib));
}

Profile Profile::scalar_reference() const {
  if (kind_ == Kind::kUnknown) return *this;
  Profile scalar = *this;
  scalar.kind_ = Kind::kScalar;
  if (scalar.stated_speedup_ == 0) scalar.stated_speedup_ = speed(ideal_);
  return scalar;
}

double Profile::steps_per_second(std::int32_t gpus) const {
  MUSTER_CHECK(gpus >= 1);
  const double w = gpus;
  const double alone = scaling_.compute + scaling_.fixed + scaling_.each;
  return alone / (scaling_.compute / w + scaling_.fixed + scaling_.each * w);
}

double Profile::gpu_factor(std::string_view gpu_type) const {
  for (const auto& [type, factor] : gpu_factors_) {
    if (type == gpu_type) return factor;
  }
  return 1.0;
}

void Profile::find_ideal() {
  const std::int64_t storage = kReferenceShare.storage_kbps;
  const double enough = kNearBest * speed(cpu_points_.back(), mem_points_.back(), storage);
  // Among points near the best speed, choose the smallest sum of CPU and memory in reference
  // shares.
  double best_cost = 0;
  bool found = false;
  for (const std::int64_t cpu : cpu_points_) {
    for (const std::int64_t mem : mem_points_) {
      if (speed(cpu, mem, storage) < enough) continue;
      const double cost =
          static_cast<double>(cpu) / static_cast<double>(kReferenceShare.cpu_milli) +
          static_cast<double>(mem) / static_cast<double>(kReferenceShare.mem_mib);
      if (!found || cost < best_cost) {
        found = true;
        best_cost = cost;
        ideal_ = {1, cpu, mem, storage};
      }
    }
  }
  MUSTER_CHECK(found);
}

void Profile::state_ideal(std::int64_t cpu_milli, std::int64_t mem_mib, double speedup) {
  ideal_ = {1, cpu_milli, mem_mib, kReferenceShare.storage_kbps};
  stated_speedup_ = speedup;
}

void Profile::state_gpu_factor(std::string gpu_type, double factor) {
  gpu_factors_.emplace_back(std::move(gpu_type), factor);
}

ProfileTable::ProfileTable() { profiles_.push_back(Profile::unknown()); }

Result<ProfileId> ProfileTable::add(Profile profile) {
  if (profile.name().empty()) return Error{"profile without a name"};
  if (find(profile.name()) != kUnknown) return Error{"profile named twice: " + profile.name()};
  return profiles_.push_back(std::move(profile));
}

ProfileId ProfileTable::find(std::string_view name) const {
  for (std::size_t i = 1; i < profiles_.size(); ++i) {
    if (profiles_[ProfileId(i)].name() == name) return ProfileId(i);
  }
  return kUnknown;
}

std::vector<std::string_view> ProfileTable::names() const {
  std::vector<std::string_view> names;
  for (std::size_t i = 1; i < profiles_.size(); ++i)
    names.push_back(profiles_[ProfileId(i)].name());
  return names;
}

MaybeError check_matrix(const SpeedMatrix& matrix) {
  const auto check_axis = [](const std::vector<std::int64_t>& axis,
                             const char* name) -> MaybeError {
    if (axis.empty()) return Error{fmt::format("{}: empty axis", name)};
    for (std::size_t i = 0; i < axis.size(); ++i) {
      if (axis[i] <= 0) return Error{fmt::format("{}: axis value {} is not positive", name, i + 1)};
      if (i > 0 && axis[i] <= axis[i - 1]) {
        return Error{fmt::format("{}: axis value {} does not ascend", name, i + 1)};
      }
    }
    return std::nullopt;
  };
  if (const MaybeError refusal = check_axis(matrix.cpu_milli, "cpus")) return refusal;
  if (const MaybeError refusal = check_axis(matrix.mem_mib, "mem")) return refusal;
  const std::size_t width = matrix.mem_mib.size();
  if (matrix.speed.size() != matrix.cpu_milli.size() * width) {
    return Error{fmt::format("speed: {} values for a grid of {} x {}", matrix.speed.size(),
                             matrix.cpu_milli.size(), width)};
  }
  for (std::size_t i = 0; i < matrix.speed.size(); ++i) {
    const std::size_t row = i / width;
    const std::size_t column = i % width;
    const auto where = [&] { return fmt::format("speed: row {}, column {}", row + 1, column + 1); };
    const double value = matrix.speed[i];
    if (!std::isfinite(value) || value <= 0 || value > 1e6) {
      return Error{where() + fmt::format(": {} is not a positive number", value)};
    }
    if (row > 0 && value < matrix.speed[i - width]) {
      return Error{where() + ": decreases with more CPUs"};
    }
    if (column > 0 && value < matrix.speed[i - 1]) {
      return Error{where() + ": decreases with more memory"};
    }
  }
  return std::nullopt;
}

}  // namespace muster
