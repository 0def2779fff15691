#include "workload/input/node_list.h"

#include <gtest/gtest.h>

#include "tests/data.h"

namespace muster {
namespace {

constexpr std::string_view kHead = "sn,cpu_milli,memory_mib,gpu,model\n";

TEST(NodeListFile, IsACluster) {
  const Result<NodeList> list = parse_node_list(
      "model,sn,gpu,cpu_milli,memory_mib\r\n"
      "P100,node-0,2,64000,262144\r\n,node-1,0,96000,393216\r\nG2,node-2,8,96000,393216\r\n",
      "nodes.csv");
  ASSERT_TRUE(list.ok()) << list.error().message;
  const Topology& topology = list.value().topology;
  ASSERT_EQ(topology.node_count(), 2u);
  EXPECT_EQ(topology.node(NodeId(0)).name, "node-0");
  EXPECT_EQ(topology.node(NodeId(0)).capacity, (Resources{2, 64000, 262144, 125000}));
  EXPECT_EQ(topology.gpu_type_name(topology.node(NodeId(1)).gpu_type), "G2");
  EXPECT_EQ(topology.rack_count(), 1u);
  EXPECT_EQ(list.value().notes,
            (std::vector<std::string>{"nodes.csv: no racks given; all nodes are in one rack",
                                      "nodes.csv: skipped: 1 node without GPUs"}));
}

std::string complaint(std::string_view text) {
  const Result<NodeList> list = parse_node_list(text, "t");
  return list.ok() ? "(accepted)" : list.error().message;
}

TEST(NodeListFile, SaysWhatIsWrong) {
  struct BadRow {
    std::string_view row;
    std::string_view message;
  };
  const BadRow rows[] = {
      {"a,1000,1024,1", "t:2: columns: 4 where the header has 5: 'a,1000,1024,1'"},
      {",1000,1024,1,T4", "t:2: sn: empty: ''"},
      {"a,1000,1024,1,", "t:2: model: empty: ''"},
      {"a\x01,1000,1024,1,T4", "t:2: sn: control character in text: 'a\\x01'"},
      {"a,1000,1024,one,T4", "t:2: gpu: not a whole number: 'one'"},
      {"a,1000,1024,-1,T4", "t:2: gpu: not between 0 and 64: '-1'"},
      {"a,1000,1024,65,T4", "t:2: gpu: not between 0 and 64: '65'"},
      {"a,-1,1024,1,T4", "t:2: cpu_milli: not between 0 and 1000000000: '-1'"},
      {"a,1000,99999999999999999999,1,T4",
       "t:2: memory_mib: number too large: '99999999999999999999'"},
      {"a,0,1024,1,T4", "t:2: less than 0.001 CPUs or 1 MiB of memory per GPU"},
      {"a,1000,1024,1,T4\na,1000,1024,1,T4", "t:3: sn: node named twice: 'a'"},
      {"a,1000,1024,0,", "t:2: no nodes with GPUs"},
      {"\"a,1000,1024,1,T4", "t:2: quote not closed: '\"a,1000,1024,1,T4'"},
  };
  for (const BadRow& bad : rows) {
    EXPECT_EQ(complaint(std::string(kHead) + std::string(bad.row) + "\n"), bad.message);
  }
  EXPECT_EQ(complaint(""), "t:1: no nodes: the file is empty");
  EXPECT_EQ(complaint("sn,cpu_milli,memory_mib,gpus,model\n"),
            "t:1: header: unknown column: 'gpus'; did you mean 'gpu'?");
  EXPECT_EQ(complaint("sn,cpu_milli,memory_mib,gpu,gpu\n"),
            "t:1: header: column named twice: 'gpu'");
  EXPECT_EQ(complaint("sn,cpu_milli,memory_mib,gpu\n"),
            "t:1: model: column missing from the header: 'sn,cpu_milli,memory_mib,gpu'");
  EXPECT_EQ(complaint(std::string_view("a\0b", 3)), "t:1: not a text file");
}

TEST(NodeListFile, ReadsTheOneOfOpenb) {
  const auto path = data_file("alibaba_openb_node_list_gpu_node.csv");
  if (!path) GTEST_SKIP() << "alibaba_openb_node_list_gpu_node.csv not found; set MUSTER_DATA";
  const Result<NodeList> list = read_node_list(*path);
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list.value().topology.node_count(), 1213u);
  EXPECT_EQ(list.value().topology.total().gpus, 6212);
  EXPECT_EQ(list.value().topology.gpu_type_count(), 7u);
}

}  // namespace
}  // namespace muster
