#pragma once

// Synergy's ten models for tests, with names and seconds per iteration, and a model "untimed".

#include <string>
#include <string_view>
#include <utility>

#include "base/types/check.h"
#include "engine/model/profile.h"

namespace muster {

inline ProfileTable synergy_like_profiles() {
  constexpr std::pair<std::string_view, double> kModels[] = {
      {"alexnet", 0.6},      {"res18", 0.64},       {"res50", 0.78},       {"mobilenet", 0.71},
      {"shufflenet", 0.615}, {"gnmt", 0.12},        {"transformer", 0.67}, {"lstm", 0.011},
      {"m5", 0.6},           {"deepspeech", 0.757},
  };
  ProfileTable table;
  const auto add = [&](std::string_view name, double iteration_seconds) {
    Profile profile = Profile::matrix(std::string(name), {{3000}, {64000}, {1.0}});
    profile.state_iteration_seconds(iteration_seconds);
    MUSTER_CHECK(table.add(std::move(profile)).ok());
  };
  for (const auto& [name, seconds] : kModels) add(name, seconds);
  add("untimed", 0);
  return table;
}

}  // namespace muster
