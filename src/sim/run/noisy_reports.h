#pragma once

// The reports of simulated jobs: the actual values plus noise. Schedulers that use measured
// speed and loss see only these reports.

#include <cstdint>
#include <vector>

#include "base/types/id.h"
#include "base/types/random.h"
#include "engine/core/event.h"
#include "engine/model/profile.h"

namespace muster {

// Before the first job of a profile runs, it is measured in this many trial runs on up to this many
// GPUs each, as in Optimus.
inline constexpr int kTrialRuns = 8;
inline constexpr int kMaxTrialGpus = 10;

class NoisyReports {
 public:
  // `profiles` must outlive this object. `noise` is the standard deviation of the relative error.
  NoisyReports(const ProfileTable& profiles, double noise, std::uint64_t seed);

  struct Progress {
    ProfileId profile;
    std::int32_t gpus = 1;  // GPUs that `work` refers to.
    Duration work;          // Total work.
    Duration done;
    double speed = 0;  // Current speed.
  };
  // The caller sets the job and the epoch.
  JobReported report(const Progress& progress);

  // Returns nothing if this profile was measured before.
  std::vector<TypeMeasured> trials(ProfileId profile);

 private:
  double blurred(double value);
  double passes_in_all(ProfileId profile);

  const ProfileTable* profiles_;
  double noise_;
  Random random_;
  IdVector<ProfileId, double> passes_;  // Training epochs until a job ends; 0: not computed yet.
  IdVector<ProfileId, std::uint8_t> tried_;
};

}  // namespace muster
