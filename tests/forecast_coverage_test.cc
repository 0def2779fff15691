// Bands of 80% contain 76 to 84% of the starts on generated workloads, if every waiting job is
// asked about. Two workloads; with MUSTER_LONG=1 all of them with all policies. Prints a table.
// MUSTER_ORACLE=1 adds the widths of forecasts that know the distributions. MUSTER_ABLATION=1
// prints what each part of the future and a young history contribute to the error.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/scheduler/scheduler.h"
#include "forecast_workloads.h"
#include "sim/forecast/calibration.h"

namespace muster {
namespace {

constexpr std::uint64_t kSeed = 1;

double percent(std::size_t part, std::size_t all) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

class ForecastCoverage : public testing::Test {
 protected:
  using Change = std::function<void(Future&, Future&&)>;

  CalibrationReport run(const ForecastWorkload& workload, const char* policy,
                        const Change& change = {}) {
    ForecastLaw law(workload, kSeed);
    PlannerOptions wanted;
    wanted.parts.policy = policy;
    MadePlanner made = make_planner(cluster_, wanted);
    EngineOptions options;
    options.pooling = made.pooling;
    options.estimates = EstimateSource::Kind::kHistory;
    CalibrationOptions calibration;
    if (change) calibration.actual = &law;
    calibration.change = change;
    const Engine engine(cluster_, std::move(made.planner), options);
    return calibrate(engine, law.history(), calibration);
  }

  static void all_known(Future& sample, Future&& actual) { sample = std::move(actual); }

  void check(const ForecastWorkload& workload, const char* policy) {
    SCOPED_TRACE(fmt::format("{} {}", workload.name, policy));
    const CalibrationReport report = run(workload, policy);
    ASSERT_GT(report.asked, 0U);
    fmt::print(
        "{:<14}{:<10}{:>6} asked {:>6.1f}% inside {:>6.1f}% before {:>6.1f}% after  "
        "uncorrected {:>5.1f}%  50%: {:>5.1f}%  95%: {:>5.1f}%  width {:>8.0f} s",
        workload.name, policy, report.asked, percent(report.inside, report.asked),
        percent(report.before, report.asked), percent(report.after, report.asked),
        percent(report.raw_inside, report.asked), percent(report.levels[0].inside, report.asked),
        percent(report.levels[2].inside, report.asked), report.levels[1].width.in_seconds());
    if (std::getenv("MUSTER_ORACLE") != nullptr) {
      const CalibrationReport best = run(workload, policy, all_known);
      fmt::print("  oracle {:>5.1f}% {:>8.0f} s", percent(best.raw_inside, best.asked),
                 best.raw_width.in_seconds());
    }
    fmt::print("\n");
    std::fflush(stdout);
    EXPECT_GE(report.share(), 0.76);
    EXPECT_LE(report.share(), 0.84);
  }

  const Topology topology_ = parse_cluster_shorthand("8x4").value();
  const ProfileTable profiles_;
  const Cluster cluster_{topology_, profiles_};
};

TEST_F(ForecastCoverage, IsThatOfTheLevel) {
  const bool all = std::getenv("MUSTER_LONG") != nullptr;
  for (const ForecastWorkload& workload : forecast_workloads()) {
    const std::string name = workload.name;
    if (!all && name != "shift" && name != "cancellations") continue;
    for (const char* policy : {"fifo", "fit-first", "backfill", "srtf", "las"}) {
      if (!all && std::string(policy) != (name == "shift" ? "fifo" : "srtf")) continue;
      check(workload, policy);
    }
  }
}

TEST_F(ForecastCoverage, Ablation) {
  if (std::getenv("MUSTER_ABLATION") == nullptr) GTEST_SKIP() << "MUSTER_ABLATION is not set";
  const std::vector<std::pair<const char*, Change>> changes = {
      {"learned", {}},
      {"actual run times", [](Future& sample, Future&& actual) { sample.left = actual.left; }},
      {"actual arrivals",
       [](Future& sample, Future&& actual) { sample.arrivals = actual.arrivals; }},
      {"no arrivals", [](Future& sample, Future&&) { sample.arrivals.clear(); }},
      {"no cancellations", [](Future& sample, Future&&) { sample.cancel_rate = 0; }},
      {"all actual", all_known},
  };
  const std::vector<std::pair<std::string, const char*>> cases = {
      {"shift", "backfill"}, {"day-night", "srtf"}, {"arrays", "srtf"}, {"cancellations", "fifo"}};
  for (const auto& [name, policy] : cases) {
    for (const ForecastWorkload& workload : forecast_workloads()) {
      if (name != workload.name) continue;
      for (const auto& [what, change] : changes) {
        const CalibrationReport report = run(workload, policy, change);
        fmt::print("{:<14}{:<10}{:<18}{:>6.1f}% inside, width {:>7.0f} s\n", name, policy, what,
                   percent(report.raw_inside, report.asked), report.raw_width.in_seconds());
        std::fflush(stdout);
      }
    }
  }
}

TEST_F(ForecastCoverage, YoungHistory) {
  if (std::getenv("MUSTER_ABLATION") == nullptr) GTEST_SKIP() << "MUSTER_ABLATION is not set";
  const std::vector<std::pair<std::string, const char*>> cases = {
      {"day-night", "srtf"}, {"stationary", "backfill"}, {"cancellations", "fifo"}};
  for (const auto& [name, policy] : cases) {
    for (ForecastWorkload workload : forecast_workloads()) {
      if (name != workload.name) continue;
      for (const std::size_t jobs : {300UL, 1'000UL, 3'000UL}) {
        workload.jobs = jobs;
        const CalibrationReport report = run(workload, policy);
        fmt::print("{:<14}{:<10}{:>5} jobs {:>6.1f}% of {} inside\n", name, policy, jobs,
                   percent(report.inside, report.asked), report.asked);
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace
}  // namespace muster
