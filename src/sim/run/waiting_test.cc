// Why each job waited, to the second, in scenes computed by hand.

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "sim/run/simulator.h"

namespace muster {
namespace {

constexpr Overheads kFreeOfCost = {Duration(), Duration(), Duration()};

struct WaitRow {
  std::int64_t submit;
  std::int32_t gpus;
  std::int64_t duration;
  const char* tenant = "";
};

Trace wait_trace(std::initializer_list<WaitRow> rows) {
  Trace trace;
  for (const WaitRow& row : rows) {
    TraceJob job;
    job.id = std::to_string(trace.jobs.size());
    job.submit = Instant::at(Duration::seconds(row.submit));
    job.gpus = row.gpus;
    job.duration = Duration::seconds(row.duration);
    job.tenant = trace.tenants.intern(row.tenant);
    trace.jobs.push_back(job);
  }
  return trace;
}

TenantTree quotas(std::int64_t a, std::int64_t b, std::int32_t reclaim_permille = 900) {
  TenantList list;
  list.rules.reclaim_permille = reclaim_permille;
  for (const auto& [name, quota] : {std::pair("a", a), std::pair("b", b)}) {
    TenantSpec spec;
    spec.name = name;
    spec.quota = quota;
    list.tenants.push_back(spec);
  }
  return TenantTree::build(list).value();
}

SimOptions waiting_with(const char* policy, const char* placement = "consolidate",
                        const TenantTree* tenants = nullptr) {
  SimOptions options;
  options.parts = {policy, "proportional", placement};
  options.overheads = kFreeOfCost;
  options.tenants = tenants;
  return options;
}

// Seconds: "fair-share 40, order 70"; "" if it did not wait.
std::string why(const JobOutcome& job) {
  std::string text;
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    const std::int64_t us = job.waiting.by_cause[i].us();
    if (us == 0) continue;
    EXPECT_EQ(us % 1'000'000, 0) << "these scenes know no fractions";
    text += (text.empty() ? "" : ", ") + std::string(kWaitCauseNames[i]) + " " +
            std::to_string(us / 1'000'000);
  }
  return text;
}

// Applied to all jobs in order.
std::vector<std::string> reasons(std::initializer_list<WaitRow> rows, const char* cluster,
                                 const SimOptions& options) {
  const Topology topology = parse_cluster_shorthand(cluster).value();
  const SimResult result = simulate(wait_trace(rows), topology, ProfileTable(), options);
  std::vector<std::string> all;
  for (const JobOutcome& job : result.jobs) {
    EXPECT_EQ(job.fate, JobResult::kFinished);
    Duration sum;
    for (const Duration part : job.waiting.by_cause) sum += part;
    EXPECT_EQ(sum, job.wait());
    all.push_back(why(job));
  }
  return all;
}
using Reasons = std::vector<std::string>;

TEST(Waiting, ForGpusThatOthersHaveIsOrder) {
  EXPECT_EQ(reasons({{0, 2, 100}, {10, 1, 50}, {30, 2, 5}}, "1x2", waiting_with("fit-first")),
            (Reasons{"", "order 90", "order 120"}));
}

TEST(Waiting, BehindAJobThatFindsNoRoomIsOrderUnderFifo) {
  // One GPU is free until 100. The job with two GPUs is first, and no job passes it.
  EXPECT_EQ(reasons({{0, 1, 100}, {10, 2, 50}, {20, 1, 5}}, "1x2", waiting_with("fifo")),
            (Reasons{"", "order 90", "order 130"}));
}

// One GPU is free on each of two servers from 10 on, and yarn wants both on one: from 100 on.
TEST(Waiting, ForGpusInTheWrongPlacesIsFragmentation) {
  for (const char* const policy : {"fit-first", "backfill", "sjf", "srtf", "tetris"}) {
    SCOPED_TRACE(policy);
    // Another job takes one of the two from 30 to 50.
    const Reasons found =
        reasons({{0, 1, 100}, {0, 1, 10}, {0, 1, 200}, {20, 2, 1000}, {30, 1, 20}}, "2x2",
                waiting_with(policy, "yarn"));
    EXPECT_EQ(found, (Reasons{"", "", "", "fragmentation 60, order 20", ""}));
  }
}

TEST(Waiting, BehindAJobThatFindsNoPlaceIsOrder) {
  const Reasons found = reasons({{0, 1, 100}, {0, 1, 10}, {0, 1, 200}, {20, 2, 1000}, {30, 1, 20}},
                                "2x2", waiting_with("fifo", "yarn"));
  EXPECT_EQ(found, (Reasons{"", "", "", "fragmentation 80", "order 70"}));
}

TEST(Waiting, ForMoreThanTheTenantsPartIsFairShare) {
  const TenantTree tenants = quotas(1, 1);
  EXPECT_EQ(reasons({{0, 1, 100, "a"}, {0, 1, 200, "b"}, {10, 1, 5, "a"}, {20, 1, 5, "b"}}, "1x2",
                    waiting_with("fit-first", "consolidate", &tenants)),
            (Reasons{"", "", "fair-share 90", "fair-share 85"}))
      << "the last one borrows from 105 on";
}

TEST(Waiting, GoesFromOneCauseToTheNextAsThingsHappen) {
  const TenantTree tenants = quotas(2, 2, 1000);
  // The pair of a is too much while a holds one, until 50. Then it is a's right, but b has borrowed
  // one of the two until 120, and waiting_with one GPU idle nothing is taken back.
  EXPECT_EQ(reasons({{0, 1, 50, "a"}, {0, 2, 300, "b"}, {10, 2, 5, "a"}, {20, 1, 100, "b"}}, "1x4",
                    waiting_with("fit-first", "consolidate", &tenants)),
            (Reasons{"", "", "fair-share 40, order 70", ""}));
}

TEST(Waiting, FairShareComesBeforeFragmentation) {
  const TenantTree tenants = quotas(1, 3);
  // Scattered, but a has no right to two anyway.
  const Reasons found =
      reasons({{0, 1, 100, "b"}, {0, 1, 10, "b"}, {0, 1, 200, "b"}, {20, 2, 5, "a"}}, "2x2",
              waiting_with("fit-first", "yarn", &tenants));
  EXPECT_EQ(found[3], "fair-share 80");
}

TEST(Waiting, OfAnEvictedJobBeginsWhenItHasSaved) {
  for (const char* const policy : {"fit-first", "srtf"}) {
    SCOPED_TRACE(policy);
    const TenantTree tenants = quotas(1, 1);
    SimOptions options = waiting_with(policy, "consolidate", &tenants);
    options.overheads = Overheads();
    // Told at 100, saves until 110; then b runs until 160.
    EXPECT_EQ(reasons({{0, 1, 500, "a"}, {1, 1, 900, "a"}, {100, 1, 50, "b"}}, "1x2", options),
              (Reasons{"", "fair-share 50", "order 10"}));
  }
}

TEST(Waiting, OfOneThatIsStoppedTwiceAddsUp) {
  EXPECT_EQ(reasons({{0, 1, 1000}, {200, 1, 100}, {400, 1, 50}}, "1x1", waiting_with("srtf")),
            (Reasons{"order 150", "", ""}));
}

// With rounds nothing is decided in between; that is not the tenants' doing.
TEST(Waiting, ForTheNextRoundIsOrder) {
  const TenantTree tenants = quotas(1, 1);
  SimOptions options = waiting_with("fit-first", "consolidate", &tenants);
  options.round = Duration::seconds(100);
  EXPECT_EQ(reasons({{0, 1, 1000, "b"},
                     {0, 1, 90, "a"},
                     {0, 1, 10, "a"},     // Too much until 90.
                     {120, 1, 10, "a"}},  // No other job of a is left.
                    "1x2", options),
            (Reasons{"", "", "fair-share 90, order 10", "order 80"}));
}

TEST(Waiting, ForGpusInTheWrongPlacesIsFragmentationUnderAdaptiveMechanismsToo) {
  SimOptions options = waiting_with("fit-first", "yarn");
  options.parts.mechanism = "tune";
  const Reasons found =
      reasons({{0, 1, 100}, {0, 1, 10}, {0, 1, 200}, {20, 2, 150}}, "2x2", options);
  EXPECT_EQ(found[3], "fragmentation 80");
}

std::string over_on_arrival(std::initializer_list<WaitRow> rows, const SimOptions& options) {
  const Topology topology = parse_cluster_shorthand("1x4").value();
  std::string text;
  for (const JobOutcome& job : simulate(wait_trace(rows), topology, ProfileTable(), options).jobs) {
    EXPECT_EQ(job.fate, JobResult::kFinished);
    text += job.waiting.over_part_on_arrival ? 'y' : 'n';
  }
  return text;
}

TEST(Waiting, TellsWhoseTenantHadUsedItsPartUpWhenItCame) {
  const TenantTree tenants = quotas(2, 2);
  for (const char* const policy : {"fifo", "fit-first", "backfill", "srtf", "las"}) {
    SCOPED_TRACE(policy);
    const SimOptions options = waiting_with(policy, "consolidate", &tenants);
    // One within, one that fills the part, one too many, one of the other, and one after the first
    // two have ended.
    EXPECT_EQ(
        over_on_arrival(
            {{0, 1, 50, "a"}, {1, 1, 50, "a"}, {2, 1, 5, "a"}, {3, 2, 200, "b"}, {60, 2, 5, "a"}},
            options),
        "nnynn");
    EXPECT_EQ(over_on_arrival({{0, 3, 50, "a"}}, options), "y") << "more than all it has";
  }
  EXPECT_EQ(over_on_arrival({{0, 3, 50, "a"}, {1, 3, 50, "a"}}, waiting_with("fifo")), "nn")
      << "without tenants there are no entitlements";
}

TEST(Waiting, AnEvictionDoesNotChangeWhatWasOnArrival) {
  const TenantTree tenants = quotas(2, 2);
  for (const char* const policy : {"fit-first", "srtf"}) {
    SCOPED_TRACE(policy);
    // The first two come together, when a holds nothing; b takes the second's GPUs back at 100.
    EXPECT_EQ(over_on_arrival({{0, 2, 500, "a"}, {0, 2, 900, "a"}, {100, 2, 50, "b"}},
                              waiting_with(policy, "consolidate", &tenants)),
              "nnn");
  }
}

}  // namespace
}  // namespace muster
