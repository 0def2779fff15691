#pragma once

// Training speed as a function of CPU, memory and storage bandwidth per GPU.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types/id.h"
#include "base/types/result.h"
#include "engine/model/loss_facts.h"
#include "engine/model/resources.h"
#include "engine/model/speed_facts.h"

namespace muster {

// Speed profile of one model. Immutable once in a ProfileTable; jobs refer to it by ProfileId.
// speed() is relative to the reference share: multiply it by the steps per second there.
class Profile {
 public:
  // Profile without sensitivity data: speed 1 at or above the reference share, and proportionally
  // less below it. Give a name if the model has other known facts.
  static Profile unknown(std::string name = "");
  static Profile matrix(std::string name, SpeedMatrix matrix);
  static Profile formula(std::string name, SpeedFormula formula);
  // Profile that depends only on CPUs; its memory sensitivity is unknown. The sizes must satisfy
  // check_matrix().
  static Profile cpu_curve(std::string name, std::vector<std::int64_t> cpu_milli,
                           std::vector<double> speed);

  const std::string& name() const { return name_; }
  bool sensitivity_known() const { return kind_ != Kind::kUnknown; }
  // If false, ideal() and mem_points() contain no data about memory. The job must then keep its
  // proportional share: with less than it needs, it would be killed.
  bool memory_known() const { return memory_known_; }

  // Speed with this much CPU, memory and storage bandwidth *per GPU*. Monotone in each.
  double speed(std::int64_t cpu_milli, std::int64_t mem_mib, std::int64_t storage_kbps) const;
  double speed(const Resources& per_gpu) const {
    return speed(per_gpu.cpu_milli, per_gpu.mem_mib, per_gpu.storage_kbps);
  }

  // Returns this profile as Synergy's simulator models it: 1 at the reference CPUs, the stated
  // speedup at the ideal CPUs, linear between them, independent of memory. Only for comparisons
  // with Synergy.
  Profile scalar_reference() const;

  // Speed on `gpu_type` relative to the reference type; 1 unless stated.
  double gpu_factor(std::string_view gpu_type) const;

  // Minimum CPU and memory per GPU with practically full speed (Synergy's best-case demand).
  // Storage is always the proportional share.
  Resources ideal() const { return ideal_; }

  // CPU and memory values per GPU at which the speed curve changes slope, ascending. Mechanisms
  // choose among these.
  const std::vector<std::int64_t>& cpu_points() const { return cpu_points_; }
  const std::vector<std::int64_t>& mem_points() const { return mem_points_; }

  // Facts from the profile file; zero if the file does not state them.
  double iteration_seconds() const { return iteration_seconds_; }  // At the reference share.
  // At ideal(), relative to the fair share.
  double stated_speedup() const { return stated_speedup_; }
  // Largest tensor's fraction of all parameters. If one tensor dominates, workers on several nodes
  // wait for the node that holds it (Tiresias), so such a model should run on few nodes.
  double skew() const { return skew_; }
  bool is_skewed() const { return skew_ > kSkewLimit; }
  // Data for the cost of running on several nodes, or nullopt: usual costs apply.
  const std::optional<ExchangeFacts>& exchange() const { return exchange_; }

  // Speed on `gpus` GPUs (at least 1), relative to one GPU. Uses a typical curve unless stated.
  double steps_per_second(std::int32_t gpus) const;
  // Loss curve, or nullopt if the profile has none. Unknown profiles have a typical one.
  const std::optional<LossFacts>& loss() const { return loss_; }
  // GPU utilization from 0 to 1 when the job has the GPU alone; 1 unless stated.
  double gpu_use() const { return gpu_use_; }

  void state_scaling(const Scaling& scaling) { scaling_ = scaling; }
  void state_loss(LossFacts loss) { loss_ = std::move(loss); }
  void state_gpu_use(double part) { gpu_use_ = part; }
  void state_skew(double share) { skew_ = share; }
  void state_exchange(const ExchangeFacts& exchange) { exchange_ = exchange; }
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
  std::optional<ExchangeFacts> exchange_;
  double gpu_use_ = 1;
  Scaling scaling_;  // The constructor sets a typical curve.
  std::optional<LossFacts> loss_;
  std::vector<std::pair<std::string, double>> gpu_factors_;
};

// All profiles of one run. Entry 0 is always Profile::unknown().
class ProfileTable {
 public:
  ProfileTable();
  static constexpr ProfileId kUnknown = ProfileId(0);

  // Fails if the name is empty or already used.
  Result<ProfileId> add(Profile profile);
  // Returns kUnknown if no profile has this name. O(n).
  ProfileId find(std::string_view name) const;
  const Profile& operator[](ProfileId id) const { return profiles_[id]; }
  std::size_t size() const { return profiles_.size(); }
  std::vector<std::string_view> names() const;  // Without entry 0.

 private:
  IdVector<ProfileId, Profile> profiles_;
};

// Returns an error unless both axes are positive and ascending, the number of values matches, and
// all speeds are finite, positive and never fall with more CPU or memory.
MaybeError check_matrix(const SpeedMatrix& matrix);

}  // namespace muster
