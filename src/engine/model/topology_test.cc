#include "engine/model/topology.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

std::string refusal(std::string_view text) {
  const Result<Topology> cluster = parse_cluster_shorthand(text);
  return cluster.ok() ? "accepted" : cluster.error().message;
}

TEST(Topology, CountsWhatIsAdded) {
  Topology t;
  EXPECT_FALSE(t.add_node("a", "r1", "v100", {8, 24000, 512000, 500000}).has_value());
  EXPECT_TRUE(t.uniform());
  EXPECT_FALSE(t.add_node("b", "r2", "v100", {8, 24000, 512000, 500000}).has_value());
  EXPECT_TRUE(t.uniform());
  EXPECT_FALSE(t.add_node("c", "r1", "a100", {4, 48000, 512000, 500000}).has_value());
  EXPECT_FALSE(t.uniform());
  EXPECT_EQ(t.node_count(), 3U);
  EXPECT_EQ(t.total(), (Resources{20, 96000, 1'536'000, 1'500'000}));
  EXPECT_EQ(t.rack_count(), 2U);
  EXPECT_EQ(t.rack_name(t.node(NodeId(2)).rack), "r1");
  EXPECT_EQ(t.gpu_type_count(), 2U);
  EXPECT_EQ(t.gpu_type_name(GpuTypeId(1)), "a100");
  EXPECT_EQ(t.gpus_of_type(GpuTypeId(0)), 16);
  EXPECT_EQ(t.gpus_of_type(GpuTypeId(1)), 4);
  EXPECT_EQ(t.largest_node_gpus(), 8);
}

TEST(Topology, RefusesServersWithNothingBesideTheirGpus) {
  Topology topology;
  EXPECT_EQ(topology.add_node("s0", "r0", "gpu", {8, 7, 512'000, 0})->message,
            "less than 0.001 CPUs or 1 MiB of memory per GPU");
  EXPECT_TRUE(topology.add_node("s0", "r0", "gpu", {8, 8, 7, 0}));
  EXPECT_FALSE(topology.add_node("s0", "r0", "gpu", {8, 8, 8, 0}));
}

TEST(Topology, TellsApartServersOfOtherGpuTypes) {
  Topology t;
  EXPECT_FALSE(t.add_node("a", "r", "v100", {8, 8, 8, 1}).has_value());
  EXPECT_FALSE(t.add_node("b", "r", "a100", {8, 8, 8, 1}).has_value());
  EXPECT_FALSE(t.uniform());
}

TEST(Topology, RefusesImpossibleServers) {
  Topology t;
  EXPECT_EQ(t.add_node("a", "r", "g", {0, 1, 1, 1})->message,
            "gpus: 0 per node; must be between 1 and 64");
  EXPECT_EQ(t.add_node("a", "r", "g", {65, 1, 1, 1})->message,
            "gpus: 65 per node; must be between 1 and 64");
  EXPECT_EQ(t.add_node("a", "r", "g", {1, -1, 1, 1})->message,
            "negative amount of CPUs, memory or storage bandwidth");
  EXPECT_EQ(t.node_count(), 0U);
  EXPECT_EQ(t.gpu_type_count(), 0U);  // A refused node leaves nothing behind.
}

TEST(Topology, SharesOfAllGpusFitTheServer) {
  const Node odd = {"a", RackId(0), GpuTypeId(0), {3, 10'000, 100'001, 7}};
  EXPECT_EQ(odd.per_gpu(), (Resources{1, 3333, 33'333, 2}));
  EXPECT_TRUE((odd.per_gpu() * 3).fits_in(odd.capacity));
}

TEST(Shorthand, FillsInTheReferenceShare) {
  const Result<Topology> cluster = parse_cluster_shorthand("16x8");
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  const Topology& t = cluster.value();
  EXPECT_EQ(t.node_count(), 16U);
  EXPECT_TRUE(t.uniform());
  EXPECT_EQ(t.rack_count(), 1U);
  EXPECT_EQ(t.node(NodeId(15)).name, "s15");
  EXPECT_EQ(t.node(NodeId(0)).capacity, (Resources{8, 24000, 512'000, 500'000}));
  EXPECT_EQ(t.node(NodeId(0)).per_gpu(), (Resources{1, 3000, 64000, 62500}));
  EXPECT_EQ(t.gpu_type_name(GpuTypeId(0)), "gpu");
}

TEST(Shorthand, TakesEveryKey) {
  const Result<Topology> cluster =
      parse_cluster_shorthand("5x4,cpus=48.5,mem=250,storage=0.5,racks=2,gpu=v100");
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  const Topology& t = cluster.value();
  EXPECT_EQ(t.node(NodeId(0)).capacity, (Resources{4, 48500, 256'000, 500}));
  EXPECT_EQ(t.gpu_type_name(GpuTypeId(0)), "v100");
  ASSERT_EQ(t.rack_count(), 2U);
  const std::uint32_t racks[] = {0, 0, 0, 1, 1};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(t.node(NodeId(i)).rack.index(), racks[i]);
}

TEST(Shorthand, SpreadsRacksEvenly) {
  for (int racks = 1; racks <= 10; ++racks) {
    const Result<Topology> cluster = parse_cluster_shorthand("10x1,racks=" + std::to_string(racks));
    ASSERT_TRUE(cluster.ok());
    ASSERT_EQ(cluster.value().rack_count(), static_cast<std::size_t>(racks));
    std::vector<int> sizes(static_cast<std::size_t>(racks));
    for (const Node& node : cluster.value().nodes()) ++sizes[node.rack.index()];
    for (const int size : sizes) {
      EXPECT_GE(size, 10 / racks);
      EXPECT_LE(size, (10 + racks - 1) / racks);
    }
  }
}

TEST(Shorthand, RefusesBadInputInOneLine) {
  constexpr const char* kForm =
      ": not a file, and not NODESxGPUS such as 16x8 or 16x8,cpus=24,mem=500,racks=2";
  EXPECT_EQ(refusal(""), std::string("--cluster ''") + kForm);
  EXPECT_EQ(refusal("16"), std::string("--cluster '16'") + kForm);
  EXPECT_EQ(refusal("sixteen"), std::string("--cluster 'sixteen'") + kForm);
  struct Row {
    const char* text;
    const char* why;
  };
  const Row rows[] = {
      {"16x", "GPUs per node: not a whole number: ''"},
      {"16x8x2", "GPUs per node: not a whole number: '8x2'"},
      {"1.5x8", "nodes: not a whole number: '1.5'"},
      {"0x8", "nodes: 0 is not between 1 and 100000"},
      {"100001x8", "nodes: 100001 is not between 1 and 100000"},
      {"16x0", "GPUs per node: 0 is not between 1 and 64"},
      {"16x65", "GPUs per node: 65 is not between 1 and 64"},
      {"16x8,cpu=24", "unknown key 'cpu'; did you mean 'cpus'?"},
      {"16x8,", "unknown key ''; one of: cpus, mem, storage, racks, gpu"},
      {"16x8,cpus", "cpus: no value; write KEY=VALUE"},
      {"16x8,cpus=", "cpus: not a number: ''"},
      {"16x8,cpus=-1", "cpus: -1 is not between 0.001 and 1000000000"},
      {"16x8,cpus=nan", "cpus: not a number: 'nan'"},
      {"16x8,cpus=1,cpus=2", "cpus: given twice"},
      {"16x8,mem=1e-9", "mem: 1e-9 is not between 0.001 and 1000000000"},
      {"16x8,racks=17", "racks: 17 is not between 1 and the number of nodes, 16"},
      {"16x8,racks=two", "racks: not a whole number: 'two'"},
      {"16x8,gpu=", "gpu: empty name"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(refusal(row.text), "--cluster '" + std::string(row.text) + "': " + row.why);
  }
}

TEST(Shorthand, TakesAsManyRacksAsServers) {
  const Result<Topology> cluster = parse_cluster_shorthand("100000x8,racks=100000");
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_EQ(cluster.value().rack_count(), 100'000U);
}

}  // namespace
}  // namespace muster
