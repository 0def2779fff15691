#pragma once

// Test helper for Gandiva's scheduler: the World of testing.h, in which jobs report their speed
// when a timer fires.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/planner/gandiva.h"
#include "engine/planner/testing.h"

namespace muster {

// Options with a maximum number of time-sliced jobs per GPU.
inline GandivaOptions at_most(std::int32_t jobs) {
  GandivaOptions options;
  options.most_jobs = jobs;
  return options;
}

class GandivaWorld : public World {
 public:
  explicit GandivaWorld(std::string_view shorthand, const GandivaOptions& options = {},
                        ProfileTable profiles = {}, SpreadFactors spread = {})
      : GandivaWorld(parse_cluster_shorthand(shorthand).value(), options, std::move(profiles),
                     spread) {}
  GandivaWorld(Topology topology, const GandivaOptions& options, ProfileTable profiles = {},
               SpreadFactors spread = {})
      : World(
            std::move(topology), std::move(profiles),
            [&](const Cluster& cluster) { return std::make_unique<Gandiva>(cluster, options); },
            spread) {
    on_timer = [this] { return reports(); };
  }

  std::map<int, double> says;  // Reported speed by job; other jobs report their expected speed.
  std::set<int> silent;

 private:
  std::vector<Event> reports() const {
    std::vector<Event> events;
    for (const JobId job : state().placed) {
      const int number = static_cast<int>(job.index());
      if (silent.contains(number)) continue;
      JobReported report;
      report.job = job;
      report.epoch = engine().lease(job).epoch;
      const auto said = says.find(number);
      report.speed = said == says.end() ? engine().lease(job).speed : said->second;
      events.emplace_back(report);
    }
    return events;
  }
};

}  // namespace muster
