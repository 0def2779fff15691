#pragma once

// How fast a job trains, as a function of what it is given beside its GPUs.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "model/resources.h"

namespace muster {

// The share per GPU at which every speed is 1.0 and trace durations are meant: that of the
// 8-GPU, 24-CPU, 500-GB server of the Synergy paper.
inline constexpr Resources kReferenceShare = {1, 3000, 64000, 62500};

// Speed measured on a grid: rows by CPUs per GPU, columns by memory per GPU, ascending axes.
// Bilinear between points, clamped outside them.
struct SpeedMatrix {
  std::vector<std::int64_t> cpu_milli;
  std::vector<std::int64_t> mem_mib;
  std::vector<double> speed;  // Row by row, cpu_milli.size() * mem_mib.size() values.
};

// Speed from first principles, for one GPU and one step: the slowest of computing on the GPU,
// preparing the data on CPUs, and fetching what the cache does not hold. The cache never evicts, so
// the part of the data set that fits in memory is read from memory and the rest from storage.
struct SpeedFormula {
  double gpu_seconds = 0;   // GPU time a step.
  double cpu_seconds = 0;   // CPU core-seconds a step.
  double mib_per_step = 0;  // Bytes read a step.
  double dataset_mib = 0;   // Size of the data set.
  double base_mem_mib = 0;  // What the process needs before it caches anything.
};

// Any limit between 0.14 (inception3) and 0.61 (alexnet) tells the models apart that Tiresias found
// to suffer from being spread from those that do not (systems.md C5).
inline constexpr double kSkewLimit = 0.3;

// How a job's speed grows with its GPUs, as the time a step takes on w of them: compute / w + fixed
// + each * w, none negative and not all zero. Only ratios count. (Optimus' function for synchronous
// training, with a parameter server beside each worker.)
struct Scaling {
  double compute = 1;
  double fixed = 0;
  double each = 0;
};

// How a job's validation loss falls: 1 / (b0 * pass + b1) + b2 after so many passes over its data.
struct LossFacts {
  double b0 = 0;  // Zero: it does not fall at all, and the job ends without converging.
  double b1 = 0;  // Above zero.
  double b2 = 0;
};

// What is believed of one model's speed. Immutable once in a table; jobs name it by ProfileId.
// speed() is relative to the reference share; multiply by iterations a second there to get steps.
class Profile {
 public:
  // Sensitivity unknown: full speed at the proportional share, never more, and proportionally less
  // below it. The name is for models of which other things are known.
  static Profile unknown(std::string name = "");
  static Profile matrix(std::string name, SpeedMatrix matrix);
  static Profile formula(std::string name, SpeedFormula formula);
  // Speed by CPUs alone; what memory does is not known. Sizes as check_matrix() wants them.
  static Profile cpu_curve(std::string name, std::vector<std::int64_t> cpu_milli,
                           std::vector<double> speed);

  const std::string& name() const { return name_; }
  bool sensitivity_known() const { return kind_ != Kind::kUnknown; }
  // If not, ideal() and mem_points() say nothing of memory, and the job is to keep its share of it:
  // with less than it turns out to need it would be killed.
  bool memory_known() const { return memory_known_; }

  // Speed with this much CPU, memory and storage bandwidth *per GPU*. Monotone in each.
  double speed(std::int64_t cpu_milli, std::int64_t mem_mib, std::int64_t storage_kbps) const;
  double speed(const Resources& per_gpu) const {
    return speed(per_gpu.cpu_milli, per_gpu.mem_mib, per_gpu.storage_kbps);
  }

  // The same profile as Synergy's own simulator reads it: 1 at the reference CPUs, the stated
  // speed-up at the ideal ones, a straight line between, memory of no account. For comparison with
  // it only.
  Profile scalar_twin() const;

  // Speed on another GPU type relative to the reference type, 1 unless stated.
  double gpu_factor(std::string_view gpu_type) const;

  // The least CPU and memory per GPU at which the job is as fast as it can usefully be (Synergy's
  // best-case demand). Storage is always the proportional share.
  Resources ideal() const { return ideal_; }

  // The points worth trying between starving and ideal: the CPU and memory values at which the
  // curve bends. Ascending.
  const std::vector<std::int64_t>& cpu_points() const { return cpu_points_; }
  const std::vector<std::int64_t>& mem_points() const { return mem_points_; }

  // Facts the profile may state; zero when it does not.
  double iteration_seconds() const { return iteration_seconds_; }  // At the reference share.
  double stated_speedup() const { return stated_speedup_; }  // At ideal(), against fair share.
  // The largest tensor's part of all parameters. Where one dominates, workers on several servers
  // wait for the one that holds it (Tiresias): such a model wants to be together.
  double skew() const { return skew_; }
  bool is_skewed() const { return skew_ > kSkewLimit; }

  // Steps a second on so many GPUs, at least 1, of which it makes one on a single GPU. A typical
  // curve unless stated.
  double steps_per_second(std::int32_t gpus) const;
  // Nothing when the profile does not say. Unknown profiles have a typical one.
  const std::optional<LossFacts>& loss() const { return loss_; }
  // The part of a GPU that it keeps busy when alone on it; 1 unless stated.
  double gpu_use() const { return gpu_use_; }

  void state_scaling(const Scaling& scaling) { scaling_ = scaling; }
  void state_loss(const LossFacts& loss) { loss_ = loss; }
  void state_gpu_use(double part) { gpu_use_ = part; }
  void state_skew(double share) { skew_ = share; }
  void state_iteration_seconds(double seconds) { iteration_seconds_ = seconds; }
  void state_ideal(std::int64_t cpu_milli, std::int64_t mem_mib, double speedup);
  void state_gpu_factor(std::string gpu_type, double factor);

 private:
  enum class Kind : std::uint8_t { kUnknown, kMatrix, kFormula, kScalar };
  Profile();
  double formula_steps_per_second(std::int64_t cpu_milli, std::int64_t mem_mib,
                                  std::int64_t storage_kbps) const;
  void find_ideal();

  Kind kind_ = Kind::kUnknown;
  std::string name_;
  bool memory_known_ = true;
  SpeedMatrix matrix_;
  SpeedFormula formula_;
  double reference_steps_per_second_ = 1;
  Resources ideal_ = kReferenceShare;
  std::vector<std::int64_t> cpu_points_;
  std::vector<std::int64_t> mem_points_;
  double iteration_seconds_ = 0;
  double stated_speedup_ = 0;
  double skew_ = 0;
  double gpu_use_ = 1;
  Scaling scaling_;  // Set by the constructor to a typical one.
  std::optional<LossFacts> loss_;
  std::vector<std::pair<std::string, double>> gpu_factors_;
};

// All profiles of one run. Entry 0 is always Profile::unknown().
class ProfileTable {
 public:
  ProfileTable();
  static constexpr ProfileId kUnknown = ProfileId(0);

  // Refuses a name that is taken.
  Result<ProfileId> add(Profile profile);
  // kUnknown when no profile has that name.
  ProfileId find(std::string_view name) const;
  const Profile& operator[](ProfileId id) const { return profiles_[id]; }
  std::size_t size() const { return profiles_.size(); }
  std::vector<std::string_view> names() const;  // Without the unknown one.

 private:
  IdVector<ProfileId, Profile> profiles_;
};

// Checks what a matrix must satisfy: ascending positive axes, right number of finite, positive
// values, never falling as CPU or memory grows.
Refusal check_matrix(const SpeedMatrix& matrix);

}  // namespace muster
