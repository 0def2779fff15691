// The events of a job from its submission to its end: each change once, and in order.

#include <gtest/gtest.h>

#include "engine/roster/roster.h"
#include "engine/roster/testing.h"
#include "live/codec/facts_codec.h"

namespace muster {
namespace {

using live_testing::Desk;
using live_testing::settings_for;
using live_testing::submit;

// A desk that records the notes of each job.
class Teller : public Desk {
 public:
  using Desk::Desk;
  void then(std::int64_t second, std::vector<Input> inputs) {
    at(second, std::move(inputs));
    hear();
  }
  void end(std::int64_t second, LiveId id, LeaseResult fate, std::string reason = "") {
    ends_at(second, id, fate, std::move(reason));
    hear();
  }
  std::string told(LiveId id) { return std::exchange(of[id], ""); }

  std::map<LiveId, std::string> of;
  std::map<LiveId, std::string> full;   // Text of each job's last note.
  std::map<LiveId, std::string> facts;  // The same.

 private:
  void hear() {
    for (const RosterNote& note : std::exchange(heard, {})) {
      of[note.id] += note.kind + ": " + note.words + "\n";
      full[note.id] = note.full;
      facts[note.id] = facts_json(note.facts);
    }
  }
};

TEST(RosterStory, AJobThatWaitsForGpusAndThenItsStart) {
  Teller desk(settings_for("1x2"));
  desk.then(1, {submit(1, 2)});
  EXPECT_EQ(desk.told(1),
            "submitted: train requests 2 GPUs\n"
            "starting: gets s0:0-1 with 6 CPUs, 125 GiB by fifo immediately\n"
            "started: runs on s0:0-1\n");
  desk.then(2, {submit(2, 2)});
  EXPECT_EQ(desk.told(2),
            "submitted: train requests 2 GPUs\n"
            "waits: needs 2 GPUs, 0 of 2 are free, at most 0 on one node\n");
  EXPECT_EQ(desk.facts[2],
            R"({"cause":"gpus","needs":2,"free":0,"gpus":2,"most_on_one":0,"waiting":0,)"
            R"("closed_gpus":0,"closed":[]})");
  desk.then(3, {submit(3, 1)});
  EXPECT_EQ(desk.told(3),
            "submitted: train requests 1 GPU\n"
            "waits: needs 1 GPU, 0 of 2 are free; 1 other job waits\n");
  desk.then(50, {submit(4, 1)});
  EXPECT_EQ(desk.told(2), "") << "nothing has changed";
  EXPECT_EQ(desk.told(4),
            "submitted: train requests 1 GPU\n"
            "waits: needs 1 GPU, 0 of 2 are free; job 2 is ahead of it; 2 other jobs wait\n");
  desk.end(92, 1, LeaseResult::kFinished);
  EXPECT_EQ(desk.told(2),
            "starting: gets s0:0-1 with 6 CPUs, 125 GiB by fifo after 90 s for GPUs\nstarted: runs "
            "on s0:0-1\n");
  EXPECT_NE(desk.told(1).find("done: "), std::string::npos);
}

TEST(RosterStory, AClosedServerAndScatteredGpus) {
  Teller desk(settings_for("2x2"));
  desk.then(1, {DrainInput{"s1", false}});
  desk.then(2, {submit(1, 1)});
  desk.told(1);
  desk.then(3, {submit(2, 2)});
  EXPECT_EQ(desk.told(2),
            "submitted: train requests 2 GPUs\n"
            "waits: needs 2 GPUs, 1 of 4 is free, 2 on unschedulable nodes: s1\n");
  EXPECT_NE(desk.facts[2].find(R"("cause":"nodes")"), std::string::npos);
  desk.then(40, {DrainInput{"s1", true}});
  EXPECT_EQ(desk.told(2).find("starting: gets s1:0-1"), 0U);
}

TEST(RosterStory, SomebodyElsesJobIsNamedToOperatorsOnly) {
  RosterSettings settings = settings_for("1x1", "srtf");
  settings.engine.estimates = EstimateSource::Kind::kUser;
  Teller desk(std::move(settings));
  SubmitInput long_one = submit(1);
  long_one.request.estimate = Duration::seconds(10'000);
  desk.then(1, {long_one});
  desk.told(1);
  SubmitInput short_one = submit(2);
  short_one.user = "bob";
  short_one.request.estimate = Duration::seconds(10);
  desk.then(200, {short_one});
  EXPECT_EQ(desk.told(1),
            "preempting: stopping for another user's job, which is ahead of it by srtf\n"
            "preempted: stopped after running 3 min; waiting again\n"
            "waits: needs 1 GPU, 0 of 1 are free\n");
  EXPECT_EQ(desk.told(2),
            "submitted: train requests 1 GPU\n"
            "waits: gets s0:0 when another user's job has stopped\n"
            "starting: gets s0:0 with 3 CPUs, 62.5 GiB by srtf after less than 1 s\n"
            "started: runs on s0:0\n");
  desk.end(210, 2, LeaseResult::kFinished);
  desk.told(1);
  short_one.id = 3;
  short_one.user = "ann";
  desk.then(300, {short_one});
  EXPECT_EQ(desk.told(1).find("preempting: stopping for job 3, which is ahead of it by srtf\n"),
            0U);
}

TEST(RosterStory, WhatIsNoBusinessOfTheScheduler) {
  Teller desk(settings_for("1x1"));
  SubmitInput held = submit(1);
  held.request.hold = true;
  SubmitInput after = submit(2);
  after.request.after_any = {1};
  desk.then(1, {held, after});
  EXPECT_EQ(desk.told(1), "submitted: train requests 1 GPU; held until released\n");
  EXPECT_EQ(desk.told(2), "submitted: train requests 1 GPU\nwaits: for 1 other job to finish\n");
  desk.then(5, {ReleaseInput{1}});
  EXPECT_EQ(desk.told(1).find("released: released\nstarting: "), 0U);
}

// The wait before a hold is not part of the wait that ends with the start.
TEST(RosterStory, AWaitBeginsAnewAfterAHold) {
  Teller desk(settings_for("1x1"));
  desk.then(1, {submit(1), submit(2)});
  desk.then(600, {HoldInput{2}});
  desk.then(700, {ReleaseInput{2}});
  EXPECT_EQ(desk.roster.find(2)->waits_since, Instant::at(Duration::seconds(700)));
  desk.told(2);
  desk.end(730, 1, LeaseResult::kFinished);
  EXPECT_EQ(desk.told(2).find("starting: gets s0:0 with 3 CPUs, 62.5 GiB by fifo after 30 s for "
                              "GPUs\n"),
            0U);
  Duration waited;
  for (const Duration each : desk.roster.find(2)->waited_for_lease.by_cause) waited += each;
  EXPECT_EQ(waited, Duration::seconds(30));
  Roster again(settings_for("1x1"));
  ASSERT_TRUE(again.restore(desk.roster.state()).ok());
  EXPECT_EQ(again.find(2)->waited_for_lease.by_cause,
            desk.roster.find(2)->waited_for_lease.by_cause);
}

TEST(RosterStory, IsNotToldTwiceWhenItGoesOnElsewhere) {
  Teller desk(settings_for("1x1"));
  desk.then(1, {submit(1), submit(2), submit(3)});
  desk.then(2, {DrainInput{"s0", false}});
  Roster again(settings_for("1x1"));
  ASSERT_TRUE(again.restore(desk.roster.state()).ok());
  EXPECT_TRUE(again.notes().empty()) << again.notes()[0].kind << " " << again.notes()[0].words;
  again.step(Instant::at(Duration::seconds(61)),
             std::vector<Input>{DrainInput{"s0", true}, desk.over(1, LeaseResult::kFinished)});
  std::string start;
  for (const RosterNote& note : again.notes()) {
    if (note.id == 2) start += note.kind + ": " + note.words;
  }
  EXPECT_NE(start.find("starting: "), std::string::npos) << start;
  EXPECT_NE(start.find("after 60 s for GPUs"), std::string::npos) << start;
}

TEST(RosterStory, OfOneJobOnlySoManyWaitsAreTold) {
  Teller desk(settings_for("2x1"));
  desk.then(1, {submit(1, 1), submit(2, 2)});
  for (int i = 0; i < 100; ++i) desk.then(2 + i, {DrainInput{"s1", i % 2 == 1}});
  const std::string story = desk.told(2);
  std::size_t waits = 0;
  for (std::size_t at = 0; (at = story.find("waits: ", at)) != std::string::npos; ++at) ++waits;
  EXPECT_LE(waits, 30U);
}

}  // namespace
}  // namespace muster
