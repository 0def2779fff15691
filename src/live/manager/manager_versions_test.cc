// A journal that another engine version wrote: the manager repeats its decisions, reports it once,
// and decides by itself from then on.

#include <functional>

#include "live/codec/era_snapshot.h"
#include "live/manager/manager_testing.h"

namespace muster {
namespace {

constexpr const char* kFifo = "scheduler: {policy: fifo, estimates: user, retry: none}";
constexpr const char* kSjf = "scheduler: {policy: sjf, estimates: user, retry: none}";

class ManagerVersions : public ManagerTest {
 protected:
  // First come, first served: job 2 runs, and job 3, which is shorter, waits for it.
  void write_journal() {
    start(scheduling(kFifo));
    for (const int seconds : {5000, 1000, 10}) {
      SubmitJob call = job(2);
      call.request.estimate = Duration::seconds(seconds);
      ask(call, 201);
    }
    tell(LeaseUpInput{1, 1, "full"});
    tell(LeaseOverInput{1, 1, LeaseResult::kFinished, "", "", 2000, 0, 0});
    tell(LeaseUpInput{2, 1, "full"});
    crash();
    runner_.take();
    logged_.clear();
  }
  void change_snapshot(const std::function<void(EraSnapshot&)>& change) {
    Journal journal = Journal::open(home_ + "/journal.db").value();
    const Snapshot snapshot = *journal.newest_snapshot().value();
    EraSnapshot era = read_era_snapshot(snapshot.body).value();
    change(era);
    EXPECT_FALSE(journal.save_snapshot({snapshot.seq, era_snapshot_json(era)}));
  }
  // The engine that recovers decides by another policy than the one that wrote.
  static void make_shortest_first(EraSnapshot& era) {
    era.settings.replace(era.settings.find("fifo"), 4, "sjf");
  }
};

TEST_F(ManagerVersions, DecisionsOfAnotherVersionAreRepeated) {
  write_journal();
  change_snapshot([](EraSnapshot& era) {
    make_shortest_first(era);
    era.engine = kEngineVersion + 7;
  });
  start(scheduling(kSjf));
  EXPECT_EQ(state(1), "done");
  EXPECT_EQ(state(2), "running");
  EXPECT_EQ(state(3), "queued");
  const std::vector<LeaseOrder> orders = runner_.take();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].id, 2U);
  EXPECT_EQ(logged_.front(),
            fmt::format("recovered 6 steps decided by engine version {}; this is version {}, "
                        "which decides from now on",
                        kEngineVersion + 7, kEngineVersion));
  SubmitJob call = job(2);
  call.request.estimate = Duration::seconds(5);
  ask(call, 201);
  tell(LeaseOverInput{2, 1, LeaseResult::kFinished, "", "", 2000, 0, 0});
  EXPECT_EQ(state(4), "starting") << "by the new engine the shortest is next";
  crash();
  logged_.clear();
  start(scheduling(kSjf));
  EXPECT_EQ(state(4), "starting");
  for (const std::string& line : logged_)
    EXPECT_EQ(line.find("decided by engine version"), std::string::npos);
}

TEST_F(ManagerVersions, TheSameVersionMustDecideTheSame) {
  write_journal();
  change_snapshot(make_shortest_first);
  EXPECT_NE(open(scheduling(kSjf)).find("led to different decisions"), std::string::npos);
}

TEST_F(ManagerVersions, ATailWithoutDecisionsNeedsItsOwnVersion) {
  write_journal();
  change_snapshot([](EraSnapshot& era) {
    era.engine = kEngineVersion + 1;
    era.decided.reset();
  });
  EXPECT_NE(open(scheduling(kFifo)).find("start and stop that version once"), std::string::npos);
}

TEST_F(ManagerVersions, DecisionsThatDoNotFitNameTheEntry) {
  write_journal();
  change_snapshot([](EraSnapshot& era) {
    era.settings.replace(era.settings.find("\"gpus\":2"), 8, "\"gpus\":1");
    era.engine = kEngineVersion + 1;
  });
  const std::string why = open(scheduling(kFifo));
  EXPECT_NE(why.find("entry 1: the plan places row 0, which is not possible"), std::string::npos)
      << why;
}

TEST_F(ManagerVersions, AfterACleanStopThereIsNothingToRepeat) {
  write_journal();
  start(scheduling(kFifo));
  end();
  change_snapshot([](EraSnapshot& era) { era.engine = kEngineVersion + 1; });
  logged_.clear();
  start(scheduling(kFifo));
  EXPECT_EQ(logged_.front().find("recovered 0 steps"), 0U) << logged_.front();
  EXPECT_EQ(state(2), "running");
  EXPECT_EQ(state(3), "queued");
}

}  // namespace
}  // namespace muster
