#pragma once

// Philly's workload in figures, for the generator `philly-like`. Measured on philly_full.csv, the
// copy of Microsoft's public Philly trace (msr-fiddle/philly-traces, CC-BY-4.0) that comes with the
// Sia simulator: 82,247 jobs of 15 virtual clusters, of which 82,179 were submitted in the 88.9
// days from 24 September 2017 on. It has neither users nor names: what is said of those is made up.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "workload/generate/quantiles.h"
#include "workload/generate/rhythm.h"

namespace muster {

inline constexpr double kPhillyJobsPerHour = 38.5;
// One virtual cluster tests itself: a job of one GPU and about a minute, every ten minutes, day and
// night. They are told from the others by their run time, below 300 s.
inline constexpr double kPhillyProbeShare = 0.156;
inline constexpr std::size_t kPhillyProbeTenant = 1;

inline constexpr std::array<std::int32_t, 10> kPhillySizes = {1, 2, 4, 8, 12, 16, 24, 32, 64, 128};

struct PhillyTenant {
  std::array<std::int32_t, kPhillySizes.size()> jobs;  // By size, without probes.
  double sweeps;   // Part of its campaigns of one GPU with kLeastSweep jobs or more.
  double largest;  // Such a campaign, in jobs.
  double pace;     // Seconds between the jobs of one, about.
  double leaning;  // To run times that are long for the size (up to 1) or short (down to -1).
  int users;       // Made up.
};
inline constexpr std::size_t kPhillyTenantCount = 15;
std::span<const PhillyTenant, kPhillyTenantCount> philly_tenants();

// A campaign: jobs of one tenant and size, less than five minutes from one to the next. 95% have
// fewer than kLeastSweep jobs; the rest have most of the jobs.
inline constexpr double kLeastSweep = 10;
inline constexpr double kSmallCampaign = 1.6;      // Jobs of one that is no sweep, on average,
inline constexpr double kLongestSmallPause = 300;  // and the longest mean gap in it, seconds.
inline constexpr double kPaceSpread = 0.6;         // Of sweeps: of the logarithm of the mean gap.
// Ranks of run times among jobs of the same size: within a campaign they correlate by 0.88,
// whatever the distance, which is what a uniform spread of this width around a level gives.
inline constexpr double kCampaignSpread = 0.35;

// Submissions by hour, smoothed over seven hours so that single sweeps do not show, and by day. On
// the clock of the file, which by its quiet hours is about that of Greenwich.
const WeekRhythm& philly_rhythm();

// Run times in seconds of jobs on 1, 2, 3 to 4, 5 to 8 and more GPUs, and of probes.
inline constexpr std::size_t kPhillyRunTimeClasses = 6;
inline constexpr std::size_t kPhillyProbeClass = 5;
std::size_t philly_run_time_class(std::int32_t gpus);
std::array<QuantileCurve, kPhillyRunTimeClasses> philly_run_times();

// Of one job, probes included.
double philly_gpu_hours();

}  // namespace muster
