// The texts about waiting jobs and nodes.

#include "live/views/views.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/roster/testing.h"

namespace muster {
namespace {

using live_testing::Desk;
using live_testing::settings_for;
using live_testing::submit;
using nlohmann::json;

std::string why(const Desk& desk, LiveId id) {
  return why_waiting(desk.roster, *desk.roster.find(id));
}

TEST(Views, SayWhomAJobWaitsFor) {
  Desk desk(settings_for("1x2"));
  SubmitInput after = submit(3);
  after.request.after_any = {1, 2};
  desk.at(0, {submit(1, 2), submit(2), after});
  EXPECT_EQ(why(desk, 3), "waits for jobs 1 (running), 2 (queued) to end");
  desk.ends_at(1, 1, LeaseResult::kFinished);
  EXPECT_EQ(why(desk, 3), "waits for job 2 (running) to end");
}

TEST(Views, SayWhichGpusAreFree) {
  Desk desk(settings_for("1x4"));
  desk.at(0, {submit(1, 3), submit(2, 2), submit(3)});
  EXPECT_EQ(why(desk, 2), "2 GPUs requested, 1 free");
  const std::string node = desk.roster.settings().topology.node(NodeId(0)).name;
  desk.ends_at(1, 1, LeaseResult::kFinished);
  desk.at(2, {submit(4, 4), DrainInput{node, false}});
  EXPECT_EQ(why(desk, 4), "4 GPUs requested, 0 free; " + node + " is drained");
}

TEST(Views, ADrainedServerHasGpusThatAreNotUsed) {
  Desk desk(settings_for("1x4"));
  const std::string node = desk.roster.settings().topology.node(NodeId(0)).name;
  desk.at(0, {submit(1, 3)});
  desk.at(1, {DrainInput{node, false}});
  const Instance instance;
  const LiveClock clock(instance, Instant());
  const json view = nodes_view(desk.roster, {}, clock)["nodes"][0];
  EXPECT_EQ(view["gpus"], 4);
  EXPECT_EQ(view["gpus_used"], 3);
  EXPECT_EQ(view["gpus_free"], 0);
}

TEST(Views, ShowOnesOwnJobsOnServers) {
  Desk desk(settings_for("1x4"));
  SubmitInput other = submit(2);
  other.user = "bob";
  desk.at(0, {submit(1), other});
  const Instance instance;
  const LiveClock clock(instance, Instant());
  EXPECT_EQ(nodes_view(desk.roster, {}, clock)["nodes"][0]["jobs"].size(), 2U);
  const json jobs = nodes_view(desk.roster, {}, clock, {"bob", false})["nodes"][0]["jobs"];
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0]["id"], 2);
}

TEST(Views, APreRunThatLastedHasPassed) {
  AttemptRow row;
  row.state = fate_name(LeaseResult::kTimeLimit);
  row.exit = R"({"trial":true,"words":"exceeded its time limit of 1000 ms"})";
  const Instance instance;
  const LiveClock clock(instance, Instant());
  EXPECT_EQ(view_of(row, clock)["state"], "passed");
  EXPECT_EQ(view_of(row, clock)["exit"], "pre-run passed");
  row.exit = R"({"trial":false,"words":"exceeded its time limit of 1000 ms"})";
  EXPECT_EQ(view_of(row, clock)["state"], "time-limit");
}

}  // namespace
}  // namespace muster
