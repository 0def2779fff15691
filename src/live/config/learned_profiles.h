#pragma once

// Speed profiles that the manager measured while jobs ran. They are stored in the settings text
// (settings.h), because decisions depend on them and a journal is replayed with the settings it was
// written under. A job that names no profile uses the learned profile with the same profile_key().

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/fit/measured_profile.h"
#include "engine/model/profile_key.h"

namespace muster {

struct LearnedProfile {
  std::string user, name;    // The user and the name of the measured jobs.
  MeasuredProfile measured;  // measured.name is the profile_key().
  std::int64_t unix_s = 0;   // Time of the measurement.
  Duration time;             // Duration of the measurement.
};

inline constexpr std::size_t kMaxLearnedProfiles = 1'000;
inline constexpr std::ptrdiff_t kMaxLearnedOfOne = 100;  // Per user.

// Returns one array per point: CPU in thousandths, steps per second, and the error.
nlohmann::json points_json(const SpeedCurve& curve);

// Converts one profile to JSON and back. The reader validates every field, because users send
// profiles too. Errors: kInvalid.
std::string learned_profile_json(const LearnedProfile& learned);
Result<LearnedProfile> read_learned_profiles(std::string_view json);

// with_learned() returns `settings` with its learned profiles replaced by `learned`.
// learned_profiles_in() returns the learned profiles in `settings`. Errors: kInvalid, kCorrupt.
std::string with_learned(std::string_view settings, std::span<const LearnedProfile> learned);
Result<std::vector<LearnedProfile>> learned_profiles_in(std::string_view settings);

// Adds `fresh` and removes an earlier profile with the same key. At the limits above it removes the
// oldest profile (of this user, or of all users).
void learn(std::vector<LearnedProfile>& all, LearnedProfile fresh);
const LearnedProfile* find_learned(std::span<const LearnedProfile> all, std::string_view key);

// Human-readable summary: "needs 0.9 CPUs per GPU, measured at 4 CPU shares in 18 s".
std::string need_words(const LearnedProfile& learned);

}  // namespace muster
