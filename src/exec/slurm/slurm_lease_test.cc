#include "exec/slurm/slurm_lease.h"

#include <gtest/gtest.h>

#include "exec/slurm/slurm_executor.h"

namespace muster {
namespace {

SlurmPart part(int rank, const std::string& node, int gpus, std::int64_t cpu_milli,
               std::int64_t mem_mib) {
  SlurmPart part;
  part.node = node;
  part.spec.node_rank = rank;
  for (int gpu = 0; gpu < gpus; ++gpu) part.spec.gpus.push_back(gpu);
  part.spec.cpu_milli = cpu_milli;
  part.spec.mem_mib = mem_mib;
  return part;
}

TEST(SlurmLease, TagsTellOursFromStrangers) {
  const std::string tag = tag_of("abc", "j12.e3", 1);
  EXPECT_EQ(tag, "muster:abc:j12.e3:1");
  const auto read = read_tag("abc", tag);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->lease, "j12.e3");
  EXPECT_EQ(read->group, 1);
  for (const char* other :
       {"", "muster:", "muster:abd:j12.e3:1", "muster:abc:j12.e3", "muster:abc:j12.e3:1:2",
        "muster:abc:../x:1", "muster:abc:j12.e3:-1", "muster:abc:j12.e3:x", " muster:abc:j12.e3:1",
        "muster:abc:j12.e3.n1:99999999999999999999"}) {
    EXPECT_FALSE(read_tag("abc", other)) << other;
  }
}

TEST(SlurmLease, EqualPartsAreOneJob) {
  std::vector<SlurmPart> parts = {part(0, "n1", 2, 6000, 100), part(1, "n2", 4, 12000, 200),
                                  part(2, "n3", 2, 6999, 100), part(3, "n4", 2, 7000, 100)};
  const std::vector<SlurmGroup> groups = groups_of(parts);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].nodes, (std::vector<std::string>{"n1", "n3"}));
  EXPECT_EQ(groups[0].parts, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(groups[0].cpus, 6);
  EXPECT_EQ(groups[1].nodes, std::vector<std::string>{"n2"});
  EXPECT_EQ(groups[1].gpus, 4);
  EXPECT_EQ(groups[2].cpus, 7);
  EXPECT_EQ(parts[2].group, 0);
  EXPECT_EQ(parts[3].group, 2);
}

TEST(SlurmLease, HasAWholeCpuAtLeast) {
  std::vector<SlurmPart> parts = {part(0, "n1", 1, 250, 100)};
  EXPECT_EQ(groups_of(parts).front().cpus, 1);
}

SlurmNode node(const std::string& name, std::int32_t gpus) {
  SlurmNode node;
  node.name = name;
  node.gpus = gpus;
  node.cpus = 24;
  node.mem_mib = 1000;
  node.state = "idle";
  return node;
}

TEST(SlurmNodeSet, AreThoseWithGpusInTheirRacks) {
  SlurmSettings settings;
  settings.partition = "main";
  settings.racks = {{"b", "mapped"}};
  const auto found = nodes_from(settings, {node("b", 8), node("login", 0), node("a", 4)},
                                {{"a", "leaf1"}, {"b", "leaf1"}}, true);
  ASSERT_TRUE(found.ok());
  const std::vector<NodeDescription>& nodes = found.value().nodes;
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].name, "a");
  EXPECT_EQ(nodes[0].rack, "leaf1");
  EXPECT_EQ(nodes[0].gpus, 4);
  EXPECT_EQ(nodes[0].cpu_milli, 24'000);
  EXPECT_EQ(nodes[1].rack, "mapped");
}

TEST(SlurmNodeSet, OfABadSiteSayWhy) {
  SlurmSettings settings;
  settings.partition = "gpus";
  EXPECT_EQ(nodes_from(settings, {}, {}, true).error().message,
            "Slurm's partition 'gpus' does not exist or has no nodes; run 'muster doctor'");
  EXPECT_EQ(nodes_from(settings, {node("a", 0)}, {}, true).error().message,
            "Slurm's partition 'gpus' has no nodes with GPUs; set Gres=gpu:N in slurm.conf");
}

}  // namespace
}  // namespace muster
