#pragma once

// What the manager has found out about the speed of jobs, by the jobs themselves: kept in the text
// of its settings (settings.h), since decisions go by it and a journal is replayed with the
// settings it was written under. A job that names no profile goes by the one of its like.

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

struct Learnt {
  std::string user, name;    // Whose jobs, called how, ...
  MeasuredProfile measured;  // ... its name being profile_key().
  std::int64_t unix_s = 0;   // When.
  Duration time;             // What it took.
};

inline constexpr std::size_t kMostLearnt = 1'000;
inline constexpr std::ptrdiff_t kMostLearntOfOne = 100;  // User.

// Thousandths of a CPU, steps a second and the error, of each point.
nlohmann::json points_json(const SpeedCurve& curve);

// As JSON, and back; the reader takes nothing for granted, since users send it too.
std::string learnt_json(const Learnt& learnt);
Result<Learnt> read_learnt(std::string_view json);

// The settings with these instead of those they have, and those they have.
std::string with_learnt(std::string_view settings, std::span<const Learnt> learnt);
Result<std::vector<Learnt>> learnt_in(std::string_view settings);

// Takes the place of what was known of the same jobs; beyond the limits the oldest is forgotten.
void learn(std::vector<Learnt>& all, Learnt fresh);
const Learnt* find_learnt(std::span<const Learnt> all, std::string_view key);

// "needs 0.9 CPUs a GPU, measured at 4 shares of CPU in 18 s", for people.
std::string need_words(const Learnt& learnt);

}  // namespace muster
