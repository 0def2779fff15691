#include "workload/input/cluster_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/types/random.h"
#include "base/types/testing.h"
#include "workload/input/testing.h"

namespace muster {
namespace {

constexpr std::string_view kSmall = R"(servers:
  - name: a
    count: 4
    gpus: 8
    gpu: v100
    cpus: 24
    mem_gb: 500
    storage_mbps: 500
    racks: 2
  - gpus: 4
    rack: r1
  - count: 2
    gpus: 2
)";

std::string refusal(std::string_view text) { return error_text(parse_cluster(text, "c.yaml")); }

TEST(ClusterFile, ReadsGroupsInOrder) {
  const Result<Topology> cluster = parse_cluster(kSmall, "c.yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  const Topology& t = cluster.value();
  ASSERT_EQ(t.node_count(), 7U);
  EXPECT_EQ(t.node(NodeId(0)).name, "a0");
  EXPECT_EQ(t.node(NodeId(3)).name, "a3");
  EXPECT_EQ(t.node(NodeId(4)).name, "s0");
  EXPECT_EQ(t.node(NodeId(6)).name, "s2");
  EXPECT_EQ(t.node(NodeId(0)).capacity, (Resources{8, 24000, 512000, 500000}));
  EXPECT_EQ(t.node(NodeId(4)).capacity, (Resources{4, 12000, 256000, 250000}));
  // Two racks for the first group, one of them shared with the single node, one for the last group.
  ASSERT_EQ(t.rack_count(), 3U);
  const char* racks[] = {"r0", "r0", "r1", "r1", "r1", "r2", "r2"};
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(t.rack_name(t.node(NodeId(i)).rack), racks[i]) << i;
  }
  EXPECT_EQ(t.gpu_type_name(t.node(NodeId(0)).gpu_type), "v100");
  EXPECT_EQ(t.gpu_type_name(t.node(NodeId(4)).gpu_type), "gpu");
  EXPECT_EQ(t.total().gpus, 40);
}

TEST(ClusterFile, NumbersRacksAroundNamedOnes) {
  const Result<Topology> cluster =
      parse_cluster("servers:\n  - {gpus: 1, rack: r0}\n  - {gpus: 1}\n", "c.yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_EQ(cluster.value().rack_count(), 2U);
  EXPECT_EQ(cluster.value().rack_name(RackId(1)), "r1");
}

TEST(ClusterFile, TheExampleIsWhatItsHeadSays) {
  const std::filesystem::path example = std::filesystem::path(__FILE__).parent_path() /
                                        "../../../examples/clusters/two-generations.yaml";
  const Result<Topology> cluster = read_cluster(example.string());
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  const Topology& t = cluster.value();
  EXPECT_EQ(t.node_count(), 21U);
  EXPECT_EQ(t.total().gpus, 164);
  EXPECT_EQ(t.rack_count(), 3U);
  EXPECT_EQ(t.gpu_type_count(), 3U);
  EXPECT_FALSE(t.uniform());
  EXPECT_EQ(t.node(NodeId(16)).name, "ampere0");
  EXPECT_EQ(t.node(NodeId(16)).per_gpu(), (Resources{1, 12000, 128000, 250000}));
  EXPECT_EQ(t.node(NodeId(20)).capacity, (Resources{4, 12000, 256000, 250000}));
  EXPECT_EQ(t.node(NodeId(20)).rack, t.node(NodeId(16)).rack);
}

TEST(ClusterFile, ReadsTheDocumentedExample) {
  const Result<Topology> cluster = parse_cluster(documented("servers:"), "formats.md");
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_EQ(cluster.value().total().gpus, 164);
}

TEST(ClusterFile, EqualsTheShorthand) {
  const Result<Topology> file = parse_cluster("servers: [{count: 16, gpus: 8, racks: 2}]", "c");
  const Result<Topology> shorthand = read_cluster("16x8,racks=2");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(shorthand.ok());
  ASSERT_EQ(file.value().node_count(), shorthand.value().node_count());
  for (std::size_t i = 0; i < file.value().node_count(); ++i) {
    const Node& a = file.value().node(NodeId(i));
    const Node& b = shorthand.value().node(NodeId(i));
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.rack, b.rack);
    EXPECT_EQ(a.capacity, b.capacity);
  }
}

TEST(ClusterFile, TellsAMissingFileFromBadShorthand) {
  EXPECT_EQ(read_cluster("mixed.yaml").error().message, "mixed.yaml: no such file");
  EXPECT_EQ(read_cluster("dir/mixed").error().message, "dir/mixed: no such file");
  EXPECT_EQ(read_cluster("/tmp").error().message, "/tmp: is a directory");
  EXPECT_EQ(read_cluster("sixteen").error().message,
            "--cluster 'sixteen': not a file, and not NODESxGPUS such as 16x8 or "
            "16x8,cpus=24,mem=500,racks=2");
}

TEST(ClusterFile, ReadsTenantsBesideServers) {
  const std::filesystem::path example =
      std::filesystem::path(__FILE__).parent_path() / "../../../examples/clusters/three-teams.yaml";
  const Result<ClusterFile> file = read_cluster_file(example.string());
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file.value().topology.total().gpus, 64);
  ASSERT_TRUE(file.value().tenants.has_value());
  const TenantTree& tenants = *file.value().tenants;
  ASSERT_EQ(tenants.size(), 5U);
  EXPECT_EQ(tenants[TenantId(1)].name, "vision");
  EXPECT_EQ(tenants[TenantId(1)].quota, 24);
  EXPECT_EQ(tenants[TenantId(1)].parent, tenants.find("research"));
  EXPECT_EQ(read_cluster(example.string()).value().total().gpus, 64);
}

TEST(ClusterFile, TenantsMayBeLeftOut) {
  const Result<ClusterFile> file = parse_cluster_file(kSmall, "c.yaml");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file.value().topology.total().gpus, 40);
  EXPECT_FALSE(file.value().tenants.has_value());
  const Result<ClusterFile> shorthand = read_cluster_file("2x4");
  ASSERT_TRUE(shorthand.ok()) << shorthand.error().message;
  EXPECT_EQ(shorthand.value().topology.total().gpus, 8);
  EXPECT_FALSE(shorthand.value().tenants.has_value());
  EXPECT_EQ(read_cluster_file("mixed.yaml").error().message, "mixed.yaml: no such file");
}

TEST(ClusterFile, RefusesTenantsThatAreWrongOrTooLarge) {
  const std::string file(kSmall);
  const std::string fitting = file + "tenants:\n  list:\n    - {name: a, quota: 40}\n";
  EXPECT_EQ(refusal(fitting), "accepted");
  EXPECT_EQ(refusal(replaced(fitting, "quota: 40", "quota: 41")),
            "c.yaml:16: quota: tenant 'a': 41 GPUs, more than the cluster's 40");
  EXPECT_EQ(refusal(replaced(fitting, "quota: 40", "qouta: 40")),
            "c.yaml:16: list: unknown key: 'qouta'; did you mean 'quota'?");
  EXPECT_EQ(parse_cluster_file(replaced(fitting, "quota: 40", "quota: 41"), "c").error().message,
            "c:16: quota: tenant 'a': 41 GPUs, more than the cluster's 40");
  EXPECT_EQ(refusal("tenants: {list: [{name: a, quota: 1}]}"), "c.yaml:1: missing key: 'servers'");
}

TEST(ClusterFile, RefusesBadInputInOneLine) {
  expect_edits(
      kSmall, refusal,
      {
          {"servers: -> server:", "c.yaml:1: unknown key: 'server'; did you mean 'servers'?"},
          {"servers: -> tenant: 1\nservers:",
           "c.yaml:1: unknown key: 'tenant'; did you mean 'tenants'?"},
          {"cpus: 24 -> cpu: 24", "c.yaml:6: servers: unknown key: 'cpu'; did you mean 'cpus'?"},
          {"cpus: 24 -> cpus: lots", "c.yaml:6: cpus: not a number: 'lots'"},
          {"cpus: 24 -> cpus: -24", "c.yaml:6: cpus: not between 0.001 and 1000000: '-24'"},
          {"cpus: 24 -> cpus: .inf", "c.yaml:6: cpus: not a number: '.inf'"},
          {"cpus: 24 -> cpus: 24\n    cpus: 25", "c.yaml:7: key given twice: 'cpus'"},
          {"mem_gb: 500 -> mem_gb: 0", "c.yaml:7: mem_gb: not between 0.001 and 1000000: '0'"},
          {"storage_mbps: 500 -> storage_mbps: [1]",
           "c.yaml:8: storage_mbps: not a number: a list"},
          {"count: 4 -> count: 0", "c.yaml:3: count: not between 1 and 100000: '0'"},
          {"count: 4 -> count: 100000", "c.yaml:10: servers: more than 100000 nodes"},
          {"count: 4 -> count: 2.5", "c.yaml:3: count: not a whole number: '2.5'"},
          {"gpus: 8 -> gpus: 65", "c.yaml:4: gpus: not between 1 and 64: '65'"},
          {"gpus: 8 -> ", "c.yaml:2: servers: missing key: 'gpus'"},
          {"gpu: v100 -> gpu: ~", "c.yaml:5: gpu: not a name: nothing"},
          {"gpu: v100 -> gpu: 'a,b'",
           "c.yaml:5: gpu: a name has only letters, digits and . _ - + : /: 'a,b'"},
          {"racks: 2 -> racks: 5", "c.yaml:9: racks: not between 1 and 4: '5'"},
          {"racks: 2 -> racks: 2\n    rack: x",
           "c.yaml:2: servers: 'rack' and 'racks' cannot be combined; use one of them"},
          {"  - gpus: 4\n ->   - gpus: 4\n    count: 11\n    name: a1\n", "accepted"},
          {"  - gpus: 4\n ->   - 4\n  - gpus: 4\n",
           "c.yaml:10: servers: not a map of name, count, gpus, gpu, cpus, mem_gb, storage_mbps, "
           "racks, rack: '4'"},
      });
  EXPECT_EQ(refusal("servers: [{name: a, gpus: 1, count: 11}, {name: a1, gpus: 1}]"),
            "c.yaml:1: servers: node named twice: 'a10'");
  EXPECT_EQ(refusal("servers: []"), "c.yaml:1: servers: empty list");
  EXPECT_EQ(refusal("servers: 3"), "c.yaml:1: servers: not a list: '3'");
}

TEST(ClusterFile, TakesAsManyRacksAsServers) {
  const Result<Topology> cluster =
      parse_cluster("servers: [{count: 100000, gpus: 8, racks: 100000}]", "c.yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_EQ(cluster.value().rack_count(), 100'000U);
}

TEST(ClusterFile, SurvivesDamagedFiles) {
  constexpr std::string_view kSpice = "[]{}:,-?&*!|>'\"%@#\n \t0.e~";
  Random random(7);
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::string text = damaged(std::string(kSmall), random, 2, kSpice);
    const Result<Topology> cluster = parse_cluster(text, "c.yaml");
    if (cluster.ok()) {
      ++accepted;
      continue;
    }
    EXPECT_EQ(cluster.error().message.rfind("c.yaml:", 0), 0U) << cluster.error().message;
    EXPECT_EQ(cluster.error().message.find('\n'), std::string::npos) << "round " << round;
  }
  EXPECT_GT(accepted, 40);
}

}  // namespace
}  // namespace muster
