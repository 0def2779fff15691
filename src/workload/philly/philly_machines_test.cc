#include "workload/philly/philly_machines.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/philly_files.h"
#include "workload/philly/philly_log.h"

namespace muster {
namespace {

// Node m1 with 8 GPUs in use, and m2 with 4.
History small_history() {
  return parse_philly_log(R"([{"submitted_time":"2017-10-09 07:02:33","attempts":[{"detail":[)"
                          R"({"ip":"m1","gpus":["gpu7"]},{"ip":"m2","gpus":["gpu0","gpu3"]}]}]}])",
                          "log")
      .value();
}

std::string machine_error(const std::string& text) {
  History history;
  const MaybeError refusal = parse_philly_machines(text, "list", history);
  EXPECT_TRUE(history.nodes.empty());
  return refusal ? refusal->message : "";
}

constexpr const char* kMachineHeader = "machineId, number of GPUs, single GPU mem\n";

TEST(PhillyMachines, KeepsWhatIsListedBesideWhatWasSeen) {
  History history = small_history();
  const std::string text = std::string(kMachineHeader) + "m0,2, 12GB\nm2,4, 24GB\r\nm1,2, 12GB\n";
  ASSERT_FALSE(parse_philly_machines(text, "list", history));
  ASSERT_EQ(history.nodes.size(), 3u);
  const HistoryNode& m1 = history.nodes[0];
  EXPECT_EQ(m1.name, "m1");
  EXPECT_EQ(m1.gpus, 8);
  EXPECT_EQ(m1.listed, 2);
  EXPECT_EQ(m1.gpu_mem_gb, 12);
  EXPECT_EQ(history.nodes[1].gpus, 4);
  EXPECT_EQ(history.nodes[1].listed, 4);
  const HistoryNode& m0 = history.nodes[2];
  EXPECT_EQ(m0.name, "m0");
  EXPECT_EQ(m0.gpus, 2);
  ASSERT_GE(history.notes.size(), 2u);
  EXPECT_EQ(*(history.notes.end() - 2),
            "1 node on which jobs used another number of GPUs than listed; the used number counts "
            "(listed 2, "
            "used 8: 1)");
  EXPECT_EQ(history.notes.back(), "1 node in the machine list but never in use");
}

TEST(PhillyMachines, NotesServersThatAreNotListed) {
  History history = small_history();
  ASSERT_FALSE(
      parse_philly_machines(std::string(kMachineHeader) + "m1,8, 24GB\n", "list", history));
  EXPECT_EQ(history.nodes[1].listed, 0);
  EXPECT_EQ(history.nodes[1].gpus, 4);
  EXPECT_EQ(history.notes.back(), "1 node in use but not in the machine list");
}

TEST(PhillyMachines, SaysWhatIsWrong) {
  const std::string header = kMachineHeader;
  EXPECT_EQ(machine_error(""), "list:1: the file is empty");
  EXPECT_EQ(machine_error("machine,gpus,mem\n"),
            "list:1: header: expected 'machineId, number of GPUs, single GPU mem', got "
            "'machine,gpus,mem'");
  EXPECT_EQ(machine_error(header + "m0,2\n"), "list:2: columns: 2 instead of 3: 'm0,2'");
  EXPECT_EQ(machine_error(header + ",2, 12GB\n"), "list:2: machineId: empty: ''");
  EXPECT_EQ(machine_error(header + "m0,two, 12GB\n"),
            "list:2: number of GPUs: not a whole number: 'two'");
  EXPECT_EQ(machine_error(header + "m0,65, 12GB\n"),
            "list:2: number of GPUs: not between 0 and 64: '65'");
  EXPECT_EQ(machine_error(header + "m0,2, 12\n"),
            "list:2: single GPU mem: not a size such as 12GB: '12'");
  EXPECT_EQ(machine_error(header + "m0,2, 12GB\n\nm0,8, 24GB\n"),
            "list:4: machineId: given twice: 'm0'");
}

TEST(PhillyMachines, CountsTheContradictionsOfAWholeCluster) {
  PhillyJobs options;
  options.jobs = 20'000;
  History history = parse_philly_log(written(write_philly_log, options), "log").value();
  std::string list;
  write_philly_machines([&](std::string_view part) { list += part; });
  ASSERT_FALSE(parse_philly_machines(list, "list", history));
  EXPECT_EQ(history.nodes.size(), 552u);
  std::int64_t differing = 0;
  std::map<std::int32_t, int> seen;
  for (const HistoryNode& node : history.nodes) {
    ++seen[node.gpus];
    if (node.gpus != node.listed) ++differing;
  }
  EXPECT_EQ(seen[4], 271);
  const std::string start = std::to_string(differing) + " nodes on which jobs used another number";
  bool noted = false;
  for (const std::string& note : history.notes) noted = noted || note.starts_with(start);
  EXPECT_TRUE(noted);
}

}  // namespace
}  // namespace muster
