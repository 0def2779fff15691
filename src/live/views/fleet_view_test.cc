// The view of all GPUs.

#include "live/views/fleet_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/core/free_gpus.h"
#include "engine/roster/testing.h"

namespace muster {
namespace {

using live_testing::Desk;
using live_testing::settings_for;
using live_testing::submit;
using nlohmann::json;

const Caller kOperator{"root", true};
const Caller kAnn{"ann", false};

json fleet(const Desk& desk, const Caller& caller = kOperator, const UseSample* use = nullptr,
           const std::vector<NodeCaveats>& notes = {}) {
  const Instance instance;
  return fleet_view(desk.roster, {caller, notes, use}, LiveClock(instance, Instant()));
}

json totals(int used, int free, int fragmented, int reserved, int closed, int others) {
  return {{"gpus", used + free + reserved + closed + others},
          {"used", used},
          {"free", free},
          {"fragmented", fragmented},
          {"reserved", reserved},
          {"closed", closed},
          {"others", others}};
}

TEST(Fleet, ShowsWhoHasEachGpu) {
  Desk desk(settings_for("3x2"));
  SubmitInput other = submit(2, 2);
  other.user = "bob";
  desk.at(0, {submit(1), other});
  const json view = fleet(desk);
  ASSERT_EQ(view["jobs"].size(), 2U);
  EXPECT_EQ(view["jobs"][1]["name"], "train");
  EXPECT_EQ(view["jobs"][1]["user"], "bob");
  EXPECT_EQ(view["jobs"][1]["gpus"], 2);
  EXPECT_FALSE(view["jobs"][1].contains("speed"));  // Unknown.
  EXPECT_EQ(view["nodes"][0]["gpus"], json({0, -1}));
  EXPECT_EQ(view["nodes"][1]["gpus"], json({1, 1}));
  EXPECT_EQ(view["nodes"][2]["gpus"], json({-1, -1}));
  EXPECT_EQ(view["totals"], totals(3, 3, 1, 0, 0, 0));
  EXPECT_EQ(view["use_of"], "none");
  EXPECT_FALSE(view["nodes"][0].contains("use"));
  EXPECT_FALSE(view.contains("reserved"));
  EXPECT_EQ(view["tenants"], json({"default"}));
}

TEST(Fleet, SaysNothingOfOthersJobsButWhereTheyAre) {
  Desk desk(settings_for("1x4"));
  SubmitInput other = submit(2);
  other.user = "bob";
  desk.at(0, {submit(1), other});
  const json jobs = fleet(desk, kAnn)["jobs"];
  EXPECT_EQ(jobs[0]["user"], "ann");
  EXPECT_EQ(jobs[1]["id"], 2);
  EXPECT_FALSE(jobs[1].contains("name"));
  EXPECT_FALSE(jobs[1].contains("user"));
  EXPECT_EQ(jobs[1]["tenant"], 0);
}

TEST(Fleet, ShowsClosedServersAndStrangers) {
  Desk desk(settings_for("2x4"));
  const std::string second = desk.roster.settings().topology.node(NodeId(1)).name;
  const std::string first = desk.roster.settings().topology.node(NodeId(0)).name;
  NodeStateInput shared;
  shared.node = first;
  shared.taken = {2, 1000, 1024, 0};
  desk.at(0, {submit(1), DrainInput{second, false, Instant::at(Duration::seconds(9))}, shared});
  const json view = fleet(desk);
  EXPECT_EQ(view["nodes"][1]["drained_until"], 9);
  EXPECT_FALSE(view["nodes"][0].contains("drained_until"));
  EXPECT_EQ(view["nodes"][0]["gpus"], json({-3, -3, 0, -1}));
  EXPECT_EQ(view["nodes"][1]["gpus"], json({-4, -4, -4, -4}));
  EXPECT_EQ(view["nodes"][1]["state"], "drained");
  EXPECT_EQ(view["totals"], totals(1, 1, 1, 0, 4, 2));
  const double all = view["nodes"][0]["cpus"];
  const double held = view["jobs"][0]["cpus"];
  EXPECT_DOUBLE_EQ(view["nodes"][0]["cpus_free"], all - held - 1);
}

// External jobs that use only CPU block the GPUs that this CPU belongs to.
TEST(Fleet, ShowsWhatStrangersKeepOff) {
  Desk desk(settings_for("1x8,cpus=32"));
  NodeStateInput shared;
  shared.node = desk.roster.settings().topology.node(NodeId(0)).name;
  shared.taken = {0, 24'000, 0, 0};
  desk.at(0, {shared, submit(1)});
  const json view = fleet(desk);
  EXPECT_EQ(view["totals"], totals(1, 1, 1, 0, 0, 6));
  const json nodes = nodes_view(desk.roster, {}, LiveClock(Instance(), Instant()));
  EXPECT_EQ(view["totals"]["free"], nodes["nodes"][0]["gpus_free"]);
}

// Job 3 takes the GPU of job 1, which has not stopped yet, and one that is free.
TEST(Fleet, ShowsWhatIsKeptForAJobThatCannotStartYet) {
  RosterSettings settings = settings_for("1x2", "las");
  Roster roster(std::move(settings));
  const std::vector<Input> first = {submit(1)};
  roster.step(Instant(), first);
  const std::vector<Input> up = {LeaseUpInput{1, 1, "full"}};
  roster.step(Instant::at(Duration::seconds(1)), up);
  const std::vector<Input> second = {submit(2, 2)};
  roster.step(Instant::at(Duration::seconds(90'000)), second);
  for (int i = 0; i < 3 && roster.find(2)->lease == std::nullopt; ++i) {
    const std::vector<Input> tick = {TickInput{}};
    roster.step(roster.wake(), tick);
  }
  ASSERT_TRUE(roster.find(1)->lease->stopping);
  const Instance instance;
  const json view = fleet_view(roster, {kOperator, {}, nullptr}, LiveClock(instance, Instant()));
  EXPECT_EQ(view["nodes"][0]["gpus"], json({0, -2}));
  EXPECT_EQ(view["reserved"], json::array({{{"job", 2}, {"gpus", 1}, {"user", "ann"}}}));
  EXPECT_EQ(view["totals"], totals(1, 0, 0, 1, 0, 0));
}

// Without backfill, free GPUs are reserved for the first job of the queue.
TEST(Fleet, ShowsWhatNobodyMayHaveBeforeTheFirst) {
  for (const char* policy : {"fifo", "sjf"}) {
    Desk desk(settings_for("1x4", policy));
    desk.at(0, {submit(1, 2), submit(2, 3)});
    const json view = fleet(desk);
    const bool kept = policy == std::string("fifo");
    EXPECT_EQ(view["nodes"][0]["gpus"], kept ? json({0, 0, -2, -2}) : json({0, 0, -1, -1}));
    EXPECT_EQ(view.contains("reserved"), kept);
    if (kept) {
      EXPECT_EQ(view["reserved"], json::array({{{"job", 2}, {"gpus", 2}, {"user", "ann"}}}));
      EXPECT_EQ(fleet(desk, {"bob", false})["reserved"], json::array({{{"job", 2}, {"gpus", 2}}}));
    }
    const json nodes = nodes_view(desk.roster, {}, LiveClock(Instance(), Instant()));
    EXPECT_EQ(nodes["nodes"][0]["gpus_free"], kept ? 0 : 2);
    EXPECT_EQ(nodes["nodes"][0]["gpus_reserved"], kept ? 2 : 0);
    EXPECT_EQ(view["totals"]["free"], count_free_gpus(desk.roster.engine(), {}).free);
    desk.at(1, {submit(3, 1)});
    if (kept) {
      ASSERT_FALSE(desk.roster.notes().empty());
      EXPECT_EQ(desk.roster.notes().back().words,
                "needs 1 GPU, 0 of 4 are free; job 2 is ahead of it; 1 other job waits");
      EXPECT_EQ(why_waiting(desk.roster, *desk.roster.find(3)),
                "1 GPU requested, 0 free, 2 reserved for job 2");
      EXPECT_EQ(why_waiting(desk.roster, *desk.roster.find(2)), "3 GPUs requested, 2 free");
    }
  }
}

TEST(WhyWaiting, AGangWantsAllItAskedForEvenBeforeItsPreRun) {
  Desk desk(settings_for("1x4"));
  SubmitInput gang = submit(2, 3);
  gang.request.prerun = Duration::seconds(60);
  desk.at(0, {submit(1, 4), gang});
  EXPECT_EQ(why_waiting(desk.roster, *desk.roster.find(2)),
            "3 GPUs requested, first 1 for its pre-run, 0 free");
}

TEST(Fleet, ShowsWhatBackfillKeeps) {
  Desk desk(settings_for("1x4", "backfill"));
  desk.at(0, {submit(1, 2), submit(2, 3)});
  const json view = fleet(desk);
  EXPECT_EQ(view["nodes"][0]["gpus"], json({0, 0, -2, -1})) << "one is left over even then";
  ASSERT_EQ(view["reserved"].size(), 1U);
  EXPECT_EQ(view["reserved"][0]["job"], 2);
  EXPECT_EQ(view["reserved"][0]["gpus"], 1);
  EXPECT_TRUE(view["reserved"][0]["from"].is_number());
  EXPECT_EQ(view["totals"], totals(2, 1, 1, 1, 0, 0));
}

TEST(Fleet, ShowsHowBusyItIs) {
  Desk desk(settings_for("1x4"));
  desk.at(0, {submit(1, 2)});
  UseSample use;
  use.cpus[{1, 1}] = {0.5};
  json view = fleet(desk, kOperator, &use);
  EXPECT_EQ(view["use_of"], "cpu");
  EXPECT_EQ(view["nodes"][0]["use"], json({0.5, 0.5, nullptr, nullptr}));
  use.gpus = {0.25, -1, 1, 0};
  view = fleet(desk, kOperator, &use, {NodeCaveats{}});
  EXPECT_EQ(view["use_of"], "gpu");
  EXPECT_EQ(view["nodes"][0]["use"], json({0.25, nullptr, 1.0, 0.0}));
  NodeCaveats hypothetical;
  hypothetical.gpus_virtual = true;
  view = fleet(desk, kOperator, &use, {hypothetical});
  EXPECT_EQ(view["use_of"], "cpu") << "the machine's GPUs are not those of the cluster";
  EXPECT_EQ(view["nodes"][0]["use"], json({0.5, 0.5, nullptr, nullptr}));
}

TEST(Fleet, SaysWhoIsStarved) {
  RosterSettings settings = settings_for("1x2,cpus=2");
  SpeedMatrix matrix;
  matrix.cpu_milli = {1'000, 2'000, 4'000};
  matrix.mem_mib = {1'024};
  matrix.speed = {1, 2, 4};
  ASSERT_TRUE(settings.profiles.add(Profile::matrix("hungry", matrix)).ok());
  matrix.speed = {1, 1, 1};
  ASSERT_TRUE(settings.profiles.add(Profile::matrix("frugal", matrix)).ok());
  Desk desk(std::move(settings));
  SubmitInput hungry = submit(1);
  hungry.request.model = "hungry";
  SubmitInput frugal = submit(2);
  frugal.request.model = "frugal";
  desk.at(0, {hungry, frugal});
  const json jobs = fleet(desk)["jobs"];
  EXPECT_NEAR(jobs[0]["speed"].get<double>(), 0.25, 1e-6);
  EXPECT_EQ(jobs[0]["starved"], true);
  EXPECT_NEAR(jobs[1]["speed"].get<double>(), 1, 1e-6);
  EXPECT_EQ(jobs[1]["starved"], false);
}

}  // namespace
}  // namespace muster
