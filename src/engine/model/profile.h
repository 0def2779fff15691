#pragma once

// How fast a job trains, as a function of what it is given beside its GPUs.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types/id.h"
#include "base/types/result.h"
#include "engine/model/resources.h"
#include "engine/model/speed_facts.h"

namespace muster {

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
