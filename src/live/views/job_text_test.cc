#include "live/views/job_text.h"

#include <gtest/gtest.h>

#include "engine/model/profile.h"

namespace muster {
namespace {

class Story : public ::testing::Test {
 protected:
  Topology topology_ = parse_cluster_shorthand("2x4,cpus=12,mem=64").value();
  ProfileTable profiles_;
  Cluster cluster_{topology_, profiles_};
  SchedulerParts parts_{"fifo", "tune", "consolidate"};

  static Placement with_cpus(std::int64_t milli) {
    Share share;
    share.node = NodeId(0);
    share.slots = 0b11;
    share.cpu_milli = milli;
    share.mem_mib = 100;
    return {share};
  }
};

TEST_F(Story, SaysWhyThisMuchCpu) {
  EXPECT_EQ(cpu_words(cluster_, with_cpus(6'000), {}, parts_),
            "6 CPUs: the proportional share of its GPUs");
  EXPECT_EQ(cpu_words(cluster_, with_cpus(9'000), {}, parts_),
            "9 CPUs: 3 above the share of its GPUs; tune adds it where it increases speed");
  EXPECT_EQ(cpu_words(cluster_, with_cpus(1'000), {}, parts_),
            "1 CPU: 5 below the share of its GPUs; more would not increase its speed");
  Resources asked;
  asked.cpu_milli = 4'500;
  EXPECT_EQ(cpu_words(cluster_, with_cpus(9'000), asked, parts_),
            "9 CPUs: as requested, 3 above the share of its GPUs");
  EXPECT_TRUE(memory_words(cluster_, with_cpus(1), {}, parts_)
                  .ends_with("more would not increase its speed"));
  EXPECT_EQ(place_words(with_cpus(1), parts_),
            "on 1 node by consolidate: minimum number of nodes, then the tightest fit");
}

TEST_F(Story, SaysWhatWentWrongInALine) {
  const PastTimes ran{Duration::seconds(300), Duration::seconds(210), Duration::seconds(90), 1};
  EXPECT_EQ(end_words("failed", ran, "out of memory"),
            "failed after running 90.0 s: out of memory");
  const PastTimes never{Duration::seconds(2), {}, {}, 0};
  EXPECT_EQ(end_words("cancelled", never, "cancelled by ann"),
            "cancelled after waiting 2.00 s by ann");
  std::string words = "ä";
  for (int i = 0; i < 9; ++i) words += words;
  const std::string cut = end_words("failed", ran, words);
  EXPECT_LT(cut.size(), 110U);
  EXPECT_TRUE(cut.ends_with("ä…"));
}

TEST_F(Story, SaysWhereTheTimeWent) {
  PastTimes times{Duration::seconds(60), Duration::seconds(20), Duration::seconds(40), 1};
  EXPECT_EQ(times_words(times), "waited 20.0 s to start, ran 40.0 s in 1 lease");
  times.ran = Duration::seconds(30);
  times.leases = 2;
  EXPECT_EQ(times_words(times),
            "waited 20.0 s to start, ran 30.0 s in 2 leases, 10.0 s in between");
}

}  // namespace
}  // namespace muster
