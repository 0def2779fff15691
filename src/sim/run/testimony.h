#pragma once

// What jobs say of themselves: the truth, blurred. Schedulers that guide themselves by measured
// speed and loss are told this and nothing else.

#include <cstdint>
#include <vector>

#include "base/types/id.h"
#include "base/types/random.h"
#include "engine/core/event.h"
#include "engine/model/profile.h"

namespace muster {

// Trial runs of each sort of job before its first one runs, on up to so many GPUs each: as Optimus
// does it.
inline constexpr int kTrialRuns = 8;
inline constexpr int kMostTrialGpus = 10;

class Testimony {
 public:
  // `profiles` must outlive it. Each number told is off by a normal error of this part of itself.
  Testimony(const ProfileTable& profiles, double noise, std::uint64_t seed);

  struct Progress {
    ProfileId profile;
    std::int32_t gpus = 1;  // What `work` is meant on.
    Duration work;          // All of it.
    Duration done;
    double speed = 0;  // Now.
  };
  // The job and epoch are the caller's to fill in.
  JobReported report(const Progress& progress);

  // Nothing if that sort of job was tried before.
  std::vector<TypeMeasured> trials(ProfileId profile);

 private:
  double blurred(double value);
  double passes_in_all(ProfileId profile);

  const ProfileTable* profiles_;
  double noise_;
  Random random_;
  IdVector<ProfileId, double> passes_;  // Until a job ends; 0: not computed yet.
  IdVector<ProfileId, std::uint8_t> tried_;
};

}  // namespace muster
