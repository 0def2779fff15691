// Nodes that are added, change and fail while the manager runs.

#include "live/manager/manager_testing.h"

namespace muster {
namespace {

using nlohmann::json;

// CPU and memory per GPU stay the same, because otherwise the running jobs would not fit.
std::string nodes(const std::vector<std::pair<const char*, int>>& list) {
  std::string text;
  for (const auto& [name, gpus] : list) {
    text += (text.empty() ? "" : ", ") + std::string("{name: ") + name +
            ", gpus: " + std::to_string(gpus) + ", cpus: 1, mem: 1}";
  }
  return "nodes: [" + text + "]\n";
}
const std::string kTwo = nodes({{"a", 2}, {"b", 2}});
const std::string kThree = nodes({{"a", 2}, {"b", 2}, {"c", 4}});

class ManagerNodesTest : public ManagerTest {
 protected:
  std::string names() {
    std::string text;
    const json answer = ask(ListNodes{}, 200);
    for (const json& node : answer["nodes"]) {
      text += (text.empty() ? "" : " ") + node["name"].get<std::string>() + ":" +
              node["state"].get<std::string>();
    }
    return text;
  }
  void change(const std::string& yaml) {
    manager_->change_settings(scheduling(yaml + kPlain), {});
    ask(ShowHealth{}, 200);
    ask(ShowHealth{}, 200);  // By then its consequences are processed too.
  }
  int entries() {
    int count = 0;
    Result<Journal> journal = Journal::open(home_ + "/journal.db");
    EXPECT_FALSE(journal.value().for_each_from(
        1, [&](std::uint64_t, const JournalEntry& entry) { count += !entry.body.empty(); }));
    return count;
  }
};

TEST_F(ManagerNodesTest, ServersMayBeAddedWhileItRuns) {
  start(scheduling(kTwo + kPlain));
  ask(job(2), 201);
  tell(LeaseUpInput{1, 1, "full"});
  tell(NodeStateInput{"b", false, "no power", {}});
  tell(NodeStateInput{"c", true, "", {3, 0, 0, 0}});  // Not here yet.
  EXPECT_EQ(names(), "a:open b:unusable");
  change(kThree);
  EXPECT_EQ(names(), "a:open b:unusable c:open") << "the state of b is kept";
  EXPECT_EQ(state(1), "running");
  EXPECT_EQ(ask(ListNodes{}, 200)["nodes"][2]["others"]["gpus"], 3);
  end();
  start(scheduling(kThree + kPlain));
  EXPECT_EQ(names(), "a:open b:unusable c:open");
}

TEST_F(ManagerNodesTest, AServerWithJobsStaysUntilTheyHaveEnded) {
  start(scheduling(kThree + kPlain));
  ask(job(4), 201);  // On c.
  tell(LeaseUpInput{1, 1, "full"});
  change(kTwo);
  EXPECT_EQ(names(), "a:open b:open c:open");
  tell(LeaseOverInput{1, 1, LeaseResult::kFinished, "", "", 2000, 0, 0});
  EXPECT_EQ(names(), "a:open b:open");
}

TEST_F(ManagerNodesTest, SettingsThatMakeNoSenseChangeNothing) {
  start(scheduling(kTwo + kPlain));
  manager_->change_settings("{", {});
  ask(ShowHealth{}, 200);
  EXPECT_EQ(names(), "a:open b:open");
}

TEST_F(ManagerNodesTest, WhatIsSaidAgainIsNotWrittenAgain) {
  start(scheduling(kTwo + kPlain));
  tell(NodeStateInput{"b", false, "no power", {}});
  manager_->news({NodeStateInput{"b", true, "", {}}, NodeStateInput{"b", false, "no power", {}}});
  for (int i = 0; i < 5; ++i) tell(NodeStateInput{"b", false, "no power", {}});
  EXPECT_EQ(names(), "a:open b:unusable");
  crash();
  EXPECT_EQ(entries(), 1);
}

TEST_F(ManagerNodesTest, WhySaysWhatIsWrongWithAllServers) {
  start(scheduling(kTwo + kPlain));
  manager_->news({NodeStateInput{"a", false, "the controller does not answer", {}},
                  NodeStateInput{"b", false, "the controller does not answer", {}}});
  ask(job(1), 201);
  json answer = ask(ExplainJob{"1"}, 200);
  EXPECT_EQ(answer["why"], "waits: no node is usable: the controller does not answer");
  EXPECT_EQ(answer["constraint"], "nodes");
  manager_->news(
      {NodeStateInput{"a", true, "", {2, 0, 0, 0}}, NodeStateInput{"b", true, "", {2, 0, 0, 0}}});
  answer = ask(ExplainJob{"1"}, 200);
  EXPECT_EQ(answer["why"],
            "waits: external jobs use 4 GPUs on 2 nodes; it needs 1, 0 of 4 are free");
  EXPECT_EQ(answer["constraint"], "others");
  manager_->news({NodeStateInput{"a", false, "no power", {}}});
  answer = ask(ExplainJob{"1"}, 200);
  EXPECT_EQ(answer["why"], "waits for nodes: a (2 GPUs) unusable: no power");
}

}  // namespace
}  // namespace muster
