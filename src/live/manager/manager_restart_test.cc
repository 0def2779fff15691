// Restarts of the manager: after a clean stop, after a crash, and with other settings.

#include <chrono>
#include <fstream>

#include "live/manager/manager_testing.h"

namespace muster {
namespace {

using nlohmann::json;

TEST_F(ManagerTest, AKeyStandsForOneJobAlsoAfterARestart) {
  start();
  EXPECT_EQ(ask(job(1, "k"), 201)["id"], 1);
  EXPECT_EQ(ask(job(1, "k"), 200)["id"], 1);
  EXPECT_EQ(ask(job(1, "k"), 201, {"bob", false})["id"], 2);
  end();
  start();
  EXPECT_EQ(ask(job(1, "k"), 200)["id"], 1);
  EXPECT_EQ(ask(job(), 201)["id"], 3);
}

TEST_F(ManagerTest, ANewJournalDoesNotTakeOldRecordsForItsOwn) {
  start();
  end();
  std::filesystem::create_directories(home_ + "/leases/j1.e1");
  EXPECT_EQ(open(scheduling(kPlain)), "") << "the journal is there";
  manager_.reset();
  for (const char* file : {"journal.db", "journal.db-wal", "journal.db-shm"}) {
    std::filesystem::remove(home_ + "/" + file);
  }
  EXPECT_NE(open(scheduling(kPlain)).find("their journal is missing"), std::string::npos);
}

TEST_F(ManagerTest, WhatHappenedIsStillToldAfterACrash) {
  start();
  ask(job(), 201);
  const json before = ask(ListEvents{}, 200);
  crash();
  std::filesystem::remove(home_ + "/instance.json");
  start();
  EXPECT_EQ(ask(ListEvents{}, 200), before) << "at the same times, though the file is gone";
}

TEST_F(ManagerTest, AJobsStoryIsWholeAfterCleanStopsAndCrashes) {
  const auto kinds = [this](LiveId id) {
    std::string text;
    std::uint64_t last = 0;
    const json told = ask(ListEvents{0, std::to_string(id), 1000}, 200);
    for (const json& event : told["events"]) {
      EXPECT_GT(event["number"].get<std::uint64_t>(), last);
      last = event["number"].get<std::uint64_t>();
      text += event["kind"].get<std::string>() + " ";
    }
    return text;
  };
  start();
  ask(job(2), 201);
  ask(job(1), 201);
  crash();
  start();
  EXPECT_EQ(kinds(2), "submitted waits ");
  end();
  start();
  crash();
  start();
  tell(LeaseUpInput{1, 1, "full"});
  tell(LeaseOverInput{1, 1, LeaseResult::kFinished, "", "", 2000, 1500, 10});
  end();
  start();
  tell(LeaseUpInput{2, 1, "full"});
  crash();
  start();
  tell(LeaseOverInput{2, 1, LeaseResult::kFinished, "", "", 2000, 1500, 10});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(kinds(1), "submitted starting started done ");
    EXPECT_EQ(kinds(2), "submitted waits starting started done ");
    end();
    start();
  }
}

// A journal without stored events: the replay creates the events of its last entries.
TEST_F(ManagerTest, AnOldJournalsEventsAreKeptFromItsLastEntriesOn) {
  start();
  ask(job(), 201);
  const json before = ask(ListEvents{}, 200);
  crash();
  hammer(home_ + "/journal.db",
         "DROP INDEX attempts_by_end; DROP TABLE events;"
         "DELETE FROM meta WHERE name = 'events_from'; DROP TABLE audit;"
         "DROP TABLE ticket_generations; PRAGMA user_version = 2");
  for (int i = 0; i < 2; ++i) {
    start();
    EXPECT_EQ(ask(ListEvents{}, 200), before);
    end();
  }
}

TEST_F(ManagerTest, FindsItsLeasesAgain) {
  start();
  ask(job(2), 201);
  ask(job(1), 201);
  tell(LeaseUpInput{1, 1, "full"});
  const std::string token = runner_.take().at(0).specs.at(0).token;
  end();
  start();
  EXPECT_EQ(state(1), "running");
  EXPECT_EQ(state(2), "queued");
  const std::vector<LeaseOrder> orders = runner_.take();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].kind, LeaseOrder::Kind::kAdopt);
  EXPECT_EQ(orders[0].specs.at(0).token, token) << "the same order, word for word";
  tell(LeaseOverInput{1, 1, LeaseResult::kFinished, "", "", 2000, 0, 0});
  EXPECT_EQ(state(2), "starting");
}

TEST_F(ManagerTest, AnOldSaveIsNotTakenForANewOne) {
  progress_every_ = Duration::micros(10'000);
  const std::string lease = home_ + "/leases/j1.e1";
  const auto say_and_wait = [&](int step, const char* line) {
    std::ofstream(lease + "/progress.jsonl", std::ios::app) << line;
    for (int i = 0; i < 1000; ++i) {
      const json job = ask(ShowJob{"1"}, 200);
      if (job.contains("progress") && job["progress"]["step"] == step) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(ask(ShowJob{"1"}, 200)["progress"]["step"], step);
  };
  const auto saves = [&] {
    int count = 0;
    Result<Journal> journal = Journal::open(home_ + "/journal.db");
    EXPECT_FALSE(journal.value().for_each_from(1, [&](std::uint64_t, const JournalEntry& entry) {
      count += entry.body.find("\"saved\"") != std::string::npos ? 1 : 0;
    }));
    return count;
  };
  start();
  ask(job(), 201);
  tell(LeaseUpInput{1, 1, "full"});
  std::filesystem::create_directories(lease);
  say_and_wait(1, "{\"saved\":true,\"step\":1}\n");
  crash();
  EXPECT_EQ(saves(), 1);
  start();
  say_and_wait(1, "");
  crash();
  EXPECT_EQ(saves(), 1) << "hours of work since may not be saved";
  start();
  say_and_wait(1, "");
  say_and_wait(2, "{\"saved\":true,\"step\":2}\n");
  crash();
  EXPECT_EQ(saves(), 2);
}

TEST_F(ManagerTest, SettingsMayChangeUnderRunningJobs) {
  start();
  ask(job(1), 201);
  tell(LeaseUpInput{1, 1, "full"});
  end();
  start(scheduling("scheduler: {policy: las, retry: none}", 4));
  EXPECT_EQ(state(1), "running");
  EXPECT_EQ(ask(ListNodes{}, 200)["nodes"][0]["gpus_free"], 3);
  end();
  // Its GPU is no longer there: the old settings hold until it has ended.
  start(scheduling("nodes: [{name: other, gpus: 2}]"));
  EXPECT_EQ(state(1), "running");
  EXPECT_EQ(ask(ListNodes{}, 200)["nodes"][0]["name"], "here");
  ask(job(4), 201);
  tell(LeaseOverInput{1, 1, LeaseResult::kFinished, "", "", 2000, 0, 0});
  tell(LeaseUpInput{2, 1, "full"});
  tell(LeaseOverInput{2, 1, LeaseResult::kFinished, "", "", 2000, 0, 0});
  EXPECT_EQ(ask(ListNodes{}, 200)["nodes"][0]["name"], "other");
}

TEST_F(ManagerTest, SnapshotsChangeNothingThatPeopleSee) {
  snapshot_every_ = 3;
  start();
  for (int i = 0; i < 20; ++i) ask(job(1 + i % 2), 201);
  for (LiveId id = 1; id <= 10; ++id) {
    tell(LeaseUpInput{id, 1, "full"});
    tell(LeaseOverInput{id, 1, LeaseResult::kFinished, "", "", 2000, 0, 0});
    EXPECT_EQ(state(id), "done");
  }
  EXPECT_EQ(ask(ListJobs{}, 200)["total"], 10);
  const json before = ask(ListJobs{}, 200);
  end();
  start();
  EXPECT_EQ(ask(ListJobs{}, 200)["total"], before["total"]);
}

// They would give jobs CPU and memory that no server has.
TEST_F(ManagerTest, PartsThatTakeAllServersForOneDoNotRunLive) {
  for (const char* part : {"mechanism: opt", "placement: count"}) {
    const std::string yaml = std::string("scheduler: {policy: fifo, ") + part + "}";
    EXPECT_NE(open(scheduling(yaml)).find("over the whole cluster"), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace muster
