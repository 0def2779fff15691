#include "workload/generate/philly_like.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/types/digest.h"
#include "tests/data.h"
#include "workload/trace/distance.h"
#include "workload/trace/info.h"
#include "workload/trace/reader.h"

namespace muster {
namespace {

constexpr std::int64_t kPhillyJobs = 82'247;

Trace generate_philly(const PhillyLikeOptions& options) {
  Result<Trace> trace = generate_philly_like(options);
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  return trace.ok() ? std::move(trace).value() : Trace();
}

Trace generate_philly(std::int64_t jobs, std::uint64_t seed) {
  PhillyLikeOptions options;
  options.jobs = jobs;
  options.seed = seed;
  return generate_philly(options);
}

std::string philly_digest_of(const Trace& trace) {
  Digest digest;
  for (const TraceJob& job : trace.jobs) {
    digest.add(job.id);
    digest.add(job.submit.us());
    digest.add(job.duration.us());
    digest.add(static_cast<std::int64_t>(job.gpus));
    digest.add(trace.users[job.user]);
    digest.add(trace.tenants[job.tenant]);
    digest.add(trace.names[job.name]);
  }
  return digest.hex();
}

// The digests must be the same with every compiler and machine, so that experiments are comparable.
TEST(PhillyLike, GivesTheSameTraceEverywhere) {
  EXPECT_EQ(philly_digest_of(generate_philly(1000, 42)), "609c55011cc006f9");
  EXPECT_EQ(philly_digest_of(generate_philly(20'000, 7)), "a788409656aff98f");
}

TEST(PhillyLike, GivesAnyNumberOfJobsInOrder) {
  for (const std::int64_t jobs : {1, 2, 999, 30'000}) {
    const Trace trace = generate_philly(jobs, 1);
    ASSERT_EQ(static_cast<std::int64_t>(trace.jobs.size()), jobs);
    Instant last;
    for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
      const TraceJob& job = trace.jobs[i];
      ASSERT_EQ(job.id, std::to_string(i));
      ASSERT_GE(job.submit, last);
      ASSERT_EQ(job.submit.us() % 1'000'000, 0);
      ASSERT_GE(job.duration, Duration::seconds(1));
      ASSERT_EQ(job.duration.us() % 1'000'000, 0);
      last = job.submit;
    }
  }
}

TEST(PhillyLike, BeginsAsALongerTraceDoes) {
  const Trace part = generate_philly(500, 3);
  const Trace whole = generate_philly(5000, 3);
  EXPECT_TRUE(std::equal(part.jobs.begin(), part.jobs.end(), whole.jobs.begin()));
}

TEST(PhillyLike, GivesUsersOneTenantAndNamesOneUserAndSize) {
  const Trace trace = generate_philly(20'000, 1);
  std::map<std::uint32_t, std::uint32_t> tenant_of;
  std::map<std::uint32_t, std::tuple<std::uint32_t, std::int32_t>> owner_of;
  for (const TraceJob& job : trace.jobs) {
    ASSERT_EQ(tenant_of.emplace(job.user, job.tenant).first->second, job.tenant);
    const std::tuple owner(job.user, job.gpus);
    ASSERT_EQ(owner_of.emplace(job.name, owner).first->second, owner);
  }
  EXPECT_GT(trace.users.size(), 200u);
  EXPECT_LT(trace.names.size(), 2500u);  // Names are reused.
}

TEST(PhillyLike, HasTenantsOfVeryUnequalSize) {
  const Trace trace = generate_philly(kPhillyJobs, 5);
  std::map<std::string, double> share;
  for (const TraceJob& job : trace.jobs) share[trace.tenants[job.tenant]] += 1.0 / kPhillyJobs;
  EXPECT_EQ(share.size(), 15u);
  EXPECT_NEAR(share["t0"], 41'226.0 / kPhillyJobs, 0.02);
  EXPECT_NEAR(share["t1"], 16'091.0 / kPhillyJobs, 0.02);
  EXPECT_NEAR(share["t5"], 1511.0 / kPhillyJobs, 0.002);
  EXPECT_LT(share["t14"], 0.001);
}

TEST(PhillyLike, KeepsSizesAndRunTimesForAnyNumberOfTenants) {
  const Trace fifteen = generate_philly(kPhillyJobs, 1);
  for (const int tenants : {1, 4, 40}) {
    PhillyLikeOptions options;
    options.jobs = kPhillyJobs;
    options.tenants = tenants;
    options.seed = 2;
    const Trace trace = generate_philly(options);
    const TraceDistance distance = distance_between(fifteen, trace);
    EXPECT_LT(distance.durations, 0.03) << tenants;
    EXPECT_LT(distance.gpus, 0.01) << tenants;
    // The smallest of 40 tenants may have no job.
    EXPECT_NEAR(static_cast<double>(describe(trace).tenants), tenants, tenants == 40 ? 4 : 0);
  }
}

TEST(PhillyLike, ComesAtTheRateAskedFor) {
  PhillyLikeOptions options;
  options.jobs = 60'000;
  for (const double rate : {5.0, kPhillyJobsPerHour, 1000.0}) {
    options.jobs_per_hour = rate;
    const TraceInfo info = describe(generate_philly(options));
    EXPECT_NEAR(static_cast<double>(info.jobs) / info.span.in_hours() / rate, 1, 0.15) << rate;
  }
  options.jobs_per_hour = rate_for_load(576);
  const TraceInfo info = describe(generate_philly(options));
  EXPECT_NEAR(info.gpu_hours / info.span.in_hours(), 576, 100);
}

TEST(PhillyLike, RefusesBadOptions) {
  const auto refused = [](auto change) {
    PhillyLikeOptions options;
    change(options);
    const Result<Trace> trace = generate_philly_like(options);
    return trace.ok() ? "" : trace.error().message;
  };
  EXPECT_EQ(refused([](auto& o) { o.jobs = 0; }), "jobs: must be 1 to 10000000: '0'");
  EXPECT_EQ(refused([](auto& o) { o.tenants = 0; }), "tenants: must be 1 to 1000: '0'");
  EXPECT_EQ(refused([](auto& o) { o.tenants = 1001; }), "tenants: must be 1 to 1000: '1001'");
  EXPECT_EQ(refused([](auto& o) { o.jobs_per_hour = 0; }),
            "rate: must be above 0 and at most 1000000 jobs per hour: '0'");
  EXPECT_EQ(refused([](auto& o) { o.jobs_per_hour = 1e-3; }),
            "rate: too low for 1000 jobs: '0.001'; use at least 0.014 jobs per hour");
}

// Compares the ranks of the run times of consecutive jobs with the same name.
TEST(PhillyLike, RunsACampaignsJobsAboutEquallyLong) {
  const Trace trace = generate_philly(20'000, 1);
  std::vector<Duration> sorted;
  for (const TraceJob& job : trace.jobs) sorted.push_back(job.duration);
  std::sort(sorted.begin(), sorted.end());
  const auto rank = [&](Duration duration) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), duration) - sorted.begin();
    return static_cast<double>(at) / static_cast<double>(sorted.size());
  };
  std::map<std::uint32_t, double> last;
  double apart = 0;
  int pairs = 0;
  for (const TraceJob& job : trace.jobs) {
    if (trace.names[job.name] == "probe") continue;
    const auto [earlier, first] = last.emplace(job.name, rank(job.duration));
    if (first) continue;
    apart += std::abs(earlier->second - rank(job.duration));
    ++pairs;
    earlier->second = rank(job.duration);
  }
  EXPECT_LT(apart / pairs, 0.15);  // Independent run times would give 1/3.
}

// ---- Comparison with the real trace

std::optional<Trace> philly() {
  const auto path = data_file("philly_full.csv");
  if (!path) return std::nullopt;
  return read_trace(*path, "philly", ProfileTable()).value();
}

TEST(PhillyLike, IsNearPhilly) {
  const std::optional<Trace> real = philly();
  if (!real) GTEST_SKIP() << "philly_full.csv not found; set MUSTER_DATA";
  for (const std::uint64_t seed : {42u, 1u, 2u, 3u}) {
    const Trace trace = generate_philly(kPhillyJobs, seed);
    const TraceDistance distance = distance_between(trace, *real);
    EXPECT_LT(distance.durations, 0.02) << seed;
    EXPECT_LT(distance.gpus, 0.005) << seed;
    EXPECT_LT(distance.gaps, 0.05) << seed;
  }
}

TEST(PhillyLike, IsNearerToPhillyThanPoissonArrivalsAre) {
  const std::optional<Trace> real = philly();
  if (!real) GTEST_SKIP() << "philly_full.csv not found; set MUSTER_DATA";
  Trace poisson;
  Random random(1);
  double now = 0;
  for (std::int64_t i = 0; i < kPhillyJobs; ++i) {
    TraceJob job;
    job.submit = Instant::at(Duration::seconds(static_cast<std::int64_t>(now)));
    poisson.jobs.push_back(job);
    now += random.exponential(3600 / kPhillyJobsPerHour);
  }
  EXPECT_GT(distance_between(poisson, *real).gaps, 0.4);
}

struct Rhythm {
  double peak_to_trough = 0;      // Ratio of the busiest to the quietest hour of the day.
  double weekend_to_weekday = 0;  // Ratio of jobs per day.
};

Rhythm rhythm_of(const Trace& trace, Duration monday_before) {
  std::vector<double> hours(24, 0);
  double weekend = 0;
  for (const TraceJob& job : trace.jobs) {
    const auto hour =
        static_cast<std::size_t>((job.submit + monday_before).us() / Duration::seconds(3600).us());
    ++hours[hour % 24];
    weekend += hour / 24 % 7 >= 5 ? 1 : 0;
  }
  const auto [least, most] = std::minmax_element(hours.begin(), hours.end());
  const double others = static_cast<double>(trace.jobs.size()) - weekend;
  return {*most / *least, (weekend / 2) / (others / 5)};
}

// A few sweeps have most of the jobs, so the busiest hour of a single trace is largely random. So
// the test compares the mean of several traces of this length.
TEST(PhillyLike, HasPhillysRhythm) {
  Rhythm mean;
  constexpr int kTraces = 8;
  for (std::uint64_t seed = 1; seed <= kTraces; ++seed) {
    const Rhythm one = rhythm_of(generate_philly(kPhillyJobs, seed), Duration());
    EXPECT_GT(one.peak_to_trough, 1.5) << seed;
    EXPECT_LT(one.weekend_to_weekday, 0.8) << seed;
    mean.peak_to_trough += one.peak_to_trough / kTraces;
    mean.weekend_to_weekday += one.weekend_to_weekday / kTraces;
  }
  const std::optional<Trace> real = philly();
  if (!real) GTEST_SKIP() << "philly_full.csv not found; set MUSTER_DATA";
  // The trace begins on a Monday at 10:30:41.
  const Rhythm wanted = rhythm_of(*real, Duration::seconds(37'841));
  EXPECT_NEAR(mean.peak_to_trough / wanted.peak_to_trough, 1, 0.2);
  EXPECT_NEAR(mean.weekend_to_weekday / wanted.weekend_to_weekday, 1, 0.2);
}

}  // namespace
}  // namespace muster
