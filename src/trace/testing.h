#pragma once

// What the tests of this folder share: Synergy's ten models, as far as traces care, and small files
// in each format, made by hand with the quirks of the real ones.

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "model/profile.h"

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

inline std::string testdata(std::string_view name) {
  return (std::filesystem::path(__FILE__).parent_path() / "testdata" / name).string();
}

// The format of each file in testdata/ that is a trace, and its name.
inline constexpr std::pair<std::string_view, std::string_view> kTraceFiles[] = {
    {"helios", "helios.csv"},   {"helios", "helios_zones.csv"},
    {"pai", "pai.csv"},         {"pai-tasks", "pai_tasks.csv"},
    {"openb", "openb.csv"},     {"gavel", "gavel7.trace"},
    {"gavel", "gavel9.trace"},  {"gavel", "gavel10.trace"},
    {"gavel", "gavel12.trace"}, {"gavel", "shockwave.csv"},
    {"sia", "sia.csv"},         {"elasticflow", "elasticflow.csv"},
    {"swf", "swf.swf"},
};

}  // namespace muster
