// Unusable nodes, nodes with external jobs, and the texts about them.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/roster/testing.h"
#include "live/codec/input_codec.h"
#include "live/views/views.h"

namespace muster {
namespace {

using live_testing::Desk;
using live_testing::settings_for;
using live_testing::submit;

NodeStateInput down(const char* node, const char* why) { return {node, false, why, {}}; }
NodeStateInput up(const char* node, Resources taken = {}) { return {node, true, "", taken}; }

std::string last_words(const Desk& desk) { return desk.heard.back().words; }

TEST(RosterNodes, AServerThatCannotBeUsedTakesNoJobs) {
  Desk desk(settings_for("1x2"));
  desk.at(1, {submit(1)});
  desk.at(2, {down("s0", "not responding"), submit(2)});
  EXPECT_EQ(desk.state(1), "running") << "running jobs continue";
  EXPECT_EQ(desk.state(2), "queued");
  EXPECT_NE(desk.story.find("node-down 0"), std::string::npos);
  EXPECT_EQ(why_waiting(desk.roster, *desk.roster.find(2)), "no node is usable: not responding");
  const std::size_t heard = desk.heard.size();
  desk.at(3, {down("s0", "not responding")});
  EXPECT_EQ(desk.heard.size(), heard) << "a repeated report is ignored";
  desk.at(4, {down("s0", "being rebooted")});
  EXPECT_EQ(last_words(desk), "s0 takes no jobs: being rebooted");
  desk.at(5, {up("s0")});
  EXPECT_EQ(desk.state(2), "running");
  EXPECT_TRUE(desk.roster.conditions().empty());
}

TEST(RosterNodes, ADrainAndATroubleMustBothBeOver) {
  Desk desk(settings_for("1x2"));
  desk.at(1, {down("s0", "no power"), DrainInput{"s0", false}, submit(1)});
  desk.at(2, {DrainInput{"s0", true}});
  EXPECT_EQ(last_words(desk), "s0 takes jobs again once it can be used: no power");
  EXPECT_EQ(desk.state(1), "queued");
  desk.at(3, {DrainInput{"s0", false}});
  desk.at(4, {up("s0")});
  EXPECT_EQ(last_words(desk), "s0 can be used again; stays drained");
  EXPECT_EQ(desk.state(1), "queued");
  desk.at(5, {DrainInput{"s0", true}});
  EXPECT_EQ(desk.state(1), "running");
}

TEST(RosterNodes, AMaintenanceEndsAndATroubleStays) {
  Desk desk(settings_for("1x2"));
  const Instant end = Instant::at(Duration::seconds(10));
  desk.at(1, {down("s0", "no power"), DrainInput{"s0", false, end}, submit(1)});
  const auto node = [&] {
    return nodes_view(desk.roster, {}, LiveClock(Instance(), Instant()))["nodes"][0];
  };
  EXPECT_EQ(node()["drained_until"], 10);
  desk.at(10, {TickInput{}});
  EXPECT_EQ(last_words(desk), "s0 ended its maintenance, but cannot be used: no power");
  EXPECT_FALSE(node().contains("drained_until"));
  EXPECT_EQ(desk.state(1), "queued");
  desk.at(11, {up("s0")});
  EXPECT_EQ(desk.state(1), "running");
}

TEST(RosterNodes, WhatOthersHoldIsNotGivenOut) {
  Desk desk(settings_for("1x4"));
  desk.at(1, {up("s0", {2, 6000, 0, 0}), submit(1, 4), submit(2, 2)});
  EXPECT_EQ(desk.state(1), "queued");
  EXPECT_EQ(why_waiting(desk.roster, *desk.roster.find(1)),
            "4 GPUs requested, 2 free, 2 used by external jobs");
  const Instance instance;
  const LiveClock clock(instance, Instant());
  const nlohmann::json view = nodes_view(desk.roster, {}, clock)["nodes"][0];
  EXPECT_EQ(view["state"], "open");
  EXPECT_EQ(view["others"]["gpus"], 2);
  EXPECT_EQ(view["others"]["cpus"], 6.0);
  EXPECT_EQ(view["gpus_free"], 0);
  EXPECT_EQ(view["gpus_reserved"], 2) << "for the first job, which no job overtakes";
  EXPECT_EQ(view["notes"][0], "2 GPUs, 6 CPUs used by external jobs");
  desk.at(2, {up("s0")});
  EXPECT_EQ(desk.state(1), "running");
}

TEST(RosterNodes, ARestoredRosterKnowsThemByName) {
  Desk desk(settings_for("2x2"));
  desk.at(1, {submit(1, 2)});
  desk.at(2, {down("s1", "no power"), up("s0", {1, 0, 0, 0}), submit(2)});
  EXPECT_EQ(desk.state(2), "queued");
  Desk again(settings_for("2x2"));
  const auto unkept = again.roster.restore(desk.roster.state());
  ASSERT_TRUE(unkept.ok()) << unkept.error().message;
  EXPECT_TRUE(unkept.value().empty()) << "job 1 and others share s0, which is no reason to stop it";
  EXPECT_EQ(again.state(1), "running");
  EXPECT_EQ(again.state(2), "queued");
  EXPECT_TRUE(again.roster.knows(down("s1", "no power")));
  EXPECT_TRUE(again.roster.knows(up("s0", {1, 0, 0, 0})));
  EXPECT_FALSE(again.roster.knows(up("s0")));
  EXPECT_TRUE(again.roster.knows(up("s7"))) << "there is none: nothing to be done about it";
}

TEST(RosterNodes, AStartingJobSaysWhatHoldsItUp) {
  Desk desk(settings_for("1x2"));
  const auto step = [&](std::int64_t second, std::vector<Input> inputs) {
    desk.roster.step(Instant::at(Duration::seconds(second)), inputs);
  };
  step(1, {submit(1)});
  const auto why = [&] { return why_waiting(desk.roster, *desk.roster.find(1)); };
  EXPECT_EQ(why(), "starting its processes");
  step(2, {LeaseNoteInput{1, 1, "waits for its server: it is being booted"}});
  EXPECT_EQ(why(), "waits for its server: it is being booted");
  ASSERT_EQ(desk.roster.notes().size(), 1U);
  EXPECT_EQ(desk.roster.notes()[0].kind, "lease-note");
  step(3, {LeaseNoteInput{1, 1, "waits for its server: it is being booted"},
           LeaseNoteInput{1, 7, "of no lease of it"}, LeaseNoteInput{9, 1, "of nobody"}});
  EXPECT_TRUE(desk.roster.notes().empty());
  Roster again(settings_for("1x2"));
  ASSERT_TRUE(again.restore(desk.roster.state()).ok());
  EXPECT_EQ(why_waiting(again, *again.find(1)), why());
  step(4, {LeaseUpInput{1, 1, "full"}});
  EXPECT_EQ(why(), "");
}

TEST(RosterNodes, AreWrittenToTheJournalAndReadAgain) {
  JournalStep step;
  step.inputs = {down("s0", "no power"), up("s1", {2, 6000, 1024, 0}),
                 LeaseNoteInput{3, 2, "waits"}};
  const Result<JournalStep> read = read_step(step_json(step));
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto& first = std::get<NodeStateInput>(read.value().inputs[0]);
  EXPECT_FALSE(first.usable);
  EXPECT_EQ(first.why, "no power");
  const auto& second = std::get<NodeStateInput>(read.value().inputs[1]);
  EXPECT_TRUE(second.usable);
  EXPECT_EQ(second.taken, (Resources{2, 6000, 1024, 0}));
  EXPECT_EQ(std::get<LeaseNoteInput>(read.value().inputs[2]).words, "waits");
  const auto bare = read_step(R"({"before":"","inputs":[{"t":"node-state","node":"s0"}]})");
  ASSERT_TRUE(bare.ok());
  EXPECT_TRUE(std::get<NodeStateInput>(bare.value().inputs[0]).usable);
}

}  // namespace
}  // namespace muster
