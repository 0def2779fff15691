#include "workload/generate/philly_figures.h"

#include <algorithm>
#include <bit>

namespace muster {

namespace {

// clang-format off
constexpr std::array<PhillyTenant, kPhillyTenantCount> kPhillyTenants = {{
    // Jobs on 1, 2, 4, 8, 12, 16, 24, 32, 64, 128 GPUs; sweeps, largest, pace, leaning, users.
    {{40841,   50, 144, 191},                          0.14,  700,  9.0, -0.05, 60},
    {{ 1806, 1415,  40,  10, 0, 19},                   0.012, 250,  3.5,  0.43, 40},
    {{ 9054,   37, 396, 455, 0, 11},                   0.10,  250,  3.5, -0.05, 50},
    {{ 7237,    3,  72,  51, 0, 58, 2},                0.13,  800,  1.8, -0.20, 20},
    {{ 1571,   33, 330},                               0,      10,  5.0, -0.36, 30},
    {{  597,  109, 266, 420, 0, 96, 1, 13, 6, 3},      0.02,   50, 15.0,  0.90, 30},
    {{ 1090,  164, 181},                               0.60,  250,  5.0, -0.27,  4},
    {{ 1137},                                          0.20,   70,  7.0,  0.90,  6},
    {{  204,    0, 329, 179, 0, 11},                   0.02,   25,  6.0,  0.62, 15},
    {{   64,    4,  10, 293, 0,  0, 0, 51},            0,      10, 10.0,  0.27, 10},
    {{  215,    3, 102,  36, 7,  4, 4,  3},            0,      10, 10.0,  0.84, 12},
    {{    2,    0,   0,   6},                          0,      10, 10.0,  0,     2},
    {{    4},                                          0,      10, 10.0,  0,     1},
    {{    3},                                          0,      10, 10.0,  0,     1},
    {{    1,    0,   0,   2},                          0,      10, 10.0,  0,     1},
}};

constexpr WeekRhythm kRhythm = {
    {1.12, 1.09, 1.07, 1.09, 1.18, 1.33, 1.45, 1.50, 1.37, 1.20, 1.01, 0.84,
     0.75, 0.70, 0.67, 0.67, 0.70, 0.72, 0.76, 0.81, 0.89, 0.97, 1.03, 1.08},
    {0.83, 1.05, 1.16, 1.32, 1.53, 0.56, 0.54},
};

constexpr std::array kLevels = {
    0.0,  0.01, 0.02, 0.05, 0.1,  0.15, 0.2,  0.25, 0.3,  0.35,  0.4,   0.45,  0.5, 0.55,
    0.6,  0.65, 0.7,  0.75, 0.8,  0.85, 0.9,  0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 1.0};

constexpr double kRunTimes[kPhillyRunTimeClasses][kLevels.size()] = {
    {1, 38, 44, 53, 99, 197, 321, 529, 675, 889, 1118, 1403, 1586, 1917, 2169, 2510, 2717, 3549,
     4754, 5911, 10370, 24700, 81700, 161400, 315000, 586000, 900000, 2600000},
    {2, 5, 7, 9, 11, 13, 15, 16, 17, 18, 19, 20, 21, 23, 25, 28, 33, 76,
     149, 22260, 72700, 197000, 344000, 523000, 808000, 1398000, 1474000, 2580000},
    {3, 36, 45, 75, 138, 179, 405, 773, 1696, 4458, 7468, 13090, 17410, 26250, 36290, 56850, 78700,
     89400, 106300, 151400, 184400, 274000, 533000, 907000, 1206000, 1862000, 2446000, 2750000},
    {1, 33, 67, 125, 216, 464, 785, 1876, 4011, 7266, 12380, 16650, 23680, 36600, 65000, 105900,
     140700, 173200, 203000, 242300, 352000, 526000, 795000, 1060000, 2000000, 2233000, 2656000,
     4628000},
    {1, 4, 4, 35, 72, 220, 345, 566, 890, 1532, 3167, 8522, 21140, 45300, 53750, 59000, 73300,
     104200, 159000, 181600, 248000, 443000, 614000, 923000, 1274000, 1514000, 1613000, 1711000},
    {1, 22, 28, 51, 57, 59, 61, 63, 64, 65, 66, 67, 68, 69, 71, 72, 73, 75,
     78, 82, 93, 127, 169, 220, 261, 282, 288, 297},
};
// clang-format on

}  // namespace

std::span<const PhillyTenant, kPhillyTenantCount> philly_tenants() { return kPhillyTenants; }

const WeekRhythm& philly_rhythm() { return kRhythm; }

std::size_t philly_run_time_class(std::int32_t gpus) {
  const auto doublings = std::bit_width(static_cast<std::uint32_t>(gpus - 1));
  return std::min<std::size_t>(static_cast<std::size_t>(doublings), kPhillyProbeClass - 1);
}

std::array<QuantileCurve, kPhillyRunTimeClasses> philly_run_times() {
  const auto curve = [](std::size_t of) { return QuantileCurve(kLevels, kRunTimes[of]); };
  return {curve(0), curve(1), curve(2), curve(3), curve(4), curve(5)};
}

double philly_gpu_hours() {
  const auto curves = philly_run_times();
  double jobs = 0;
  double gpu_seconds = 0;
  for (const PhillyTenant& tenant : kPhillyTenants) {
    for (std::size_t i = 0; i < kPhillySizes.size(); ++i) {
      const std::int32_t gpus = kPhillySizes[i];
      jobs += tenant.jobs[i];
      gpu_seconds += tenant.jobs[i] * gpus * curves[philly_run_time_class(gpus)].mean();
    }
  }
  const double probe = curves[kPhillyProbeClass].mean();
  return ((1 - kPhillyProbeShare) * gpu_seconds / jobs + kPhillyProbeShare * probe) / 3600;
}

}  // namespace muster
