#pragma once

// Statistics of Philly's workload for the generator `philly-like`. They were measured on
// philly_full.csv, the copy of Microsoft's public Philly trace (msr-fiddle/philly-traces,
// CC-BY-4.0) that comes with the Sia simulator. It has 82,247 jobs of 15 virtual clusters; 82,179
// of them were submitted in the 88.9 days from 24 September 2017. It has no users and names, so the
// values for these are invented.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "workload/generate/quantiles.h"
#include "workload/generate/rhythm.h"

namespace muster {

inline constexpr double kPhillyJobsPerHour = 38.5;
// Share of probes. One virtual cluster tests itself with a job of one GPU and about one minute,
// every ten minutes. In the trace, probes were identified by their run time below 300 s.
inline constexpr double kPhillyProbeShare = 0.156;
inline constexpr std::size_t kPhillyProbeTenant = 1;

inline constexpr std::array<std::int32_t, 10> kPhillySizes = {1, 2, 4, 8, 12, 16, 24, 32, 64, 128};

struct PhillyTenant {
  std::array<std::int32_t, kPhillySizes.size()> jobs;  // Number of jobs by size, without probes.
  double sweeps;   // Share of sweeps (kMinSweep jobs or more) in its campaigns of one GPU.
  double largest;  // Number of jobs of the largest sweep.
  double pace;     // Typical time between the jobs of a sweep, in seconds.
  double
      leaning;  // Tendency to run times that are long (up to 1) or short (down to -1) for a size.
  int users;    // Number of users (invented).
};
inline constexpr std::size_t kPhillyTenantCount = 15;
std::span<const PhillyTenant, kPhillyTenantCount> philly_tenants();

// A campaign is a sequence of jobs of one tenant and size with gaps below five minutes. 95% of the
// campaigns have fewer than kMinSweep jobs. The others, the sweeps, contain most of the jobs.
inline constexpr double kMinSweep = 10;
inline constexpr double kSmallCampaign = 1.6;      // Mean number of jobs of other campaigns.
inline constexpr double kLongestSmallPause = 300;  // Their maximum mean gap, in seconds.
inline constexpr double kPaceSpread = 0.6;         // Sweeps: deviation of the log of the mean gap.
// Width of the uniform spread of run time ranks in a campaign, among jobs of the same size. It
// gives the measured correlation of 0.88, which does not depend on the distance of the jobs.
inline constexpr double kCampaignSpread = 0.35;

// Returns the submissions by hour and by day. The hours are smoothed over seven hours to hide
// single sweeps. Times are those of the file; judging by the quiet hours, they are about UTC.
const WeekRhythm& philly_rhythm();

// Classes of run times, in seconds: jobs on 1, 2, 3 to 4, 5 to 8 and more GPUs, and probes.
inline constexpr std::size_t kPhillyRunTimeClasses = 6;
inline constexpr std::size_t kPhillyProbeClass = 5;
std::size_t philly_run_time_class(std::int32_t gpus);
std::array<QuantileCurve, kPhillyRunTimeClasses> philly_run_times();

// Returns the mean GPU-hours per job, including probes.
double philly_gpu_hours();

}  // namespace muster
