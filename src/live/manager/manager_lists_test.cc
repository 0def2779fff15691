// Lists of jobs as the dashboard asks for them.

#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "live/manager/manager_testing.h"
#include "tests/campaign.h"

namespace muster {
namespace {

using nlohmann::json;

const Caller kListOperator{"root", true};
const Caller kListBob{"bob", false};

class ManagerListsTest : public ManagerTest {
 protected:
  SubmitJob named(const std::string& name, std::int32_t gpus = 1, std::int32_t priority = 0) {
    SubmitJob call = job(gpus);
    call.request.name = name;
    call.request.priority = priority;
    return call;
  }
  static ListJobs sorted(const std::string& state, const std::string& sort, bool descending) {
    ListJobs list;
    list.state = state;
    list.sort = sort;
    list.descending = descending;
    return list;
  }
  static ListJobs searched(const std::string& search) {
    ListJobs list;
    list.state = "all";
    list.search = search;
    list.counts = true;
    return list;
  }
  std::string ids(const ListJobs& list, const Caller& caller = kListOperator) {
    std::string text;
    const json answer = ask(list, 200, caller);
    for (const json& each : answer["jobs"]) text += (text.empty() ? "" : " ") + each["id"].dump();
    return text;
  }
};

// With thousands of finished jobs, all slow work is done outside the manager thread.
TEST_F(ManagerListsTest, CountsAndPassesOverBesideTheManager) {
  start();
  SubmitJob held = job();
  held.request.hold = true;
  ask(held, 201);
  ask(CancelJob{"1"}, 200);
  ListJobs list;
  EXPECT_TRUE(is_answered_at_once(list));
  list.counts = true;
  EXPECT_FALSE(is_answered_at_once(list)) << "not counted yet";
  EXPECT_TRUE(is_answered_at_once(list)) << "it is known by now";
  list.state = "ended";
  EXPECT_TRUE(is_answered_at_once(list));
  list.offset = 6'000;
  EXPECT_FALSE(is_answered_at_once(list));
  list.offset = 0;
  ask(held, 201);
  ask(CancelJob{"2"}, 200);
  EXPECT_FALSE(is_answered_at_once(list)) << "there is one more";
  EXPECT_EQ(ids(list), "2 1");
}

TEST_F(ManagerListsTest, SearchesSortsAndCounts) {
  start();
  ask(named("Zeta", 2), 201);
  ask(named("alpha", 2), 201);
  ask(named("beta", 1, 5), 201, kListBob);
  ask(named("Gamma"), 201, kListBob);
  ask(named("100%"), 201);
  ask(CancelJob{"5"}, 200);
  tell(LeaseUpInput{1, 1, "full"});

  EXPECT_EQ(ids(sorted("all", "name", false)), "2 3 4 1 5");
  EXPECT_EQ(ids(sorted("active", "name", true)), "1 4 3 2");
  EXPECT_EQ(ids(sorted("active", "gpus", true)), "2 1 4 3");
  EXPECT_EQ(ids(sorted("active", "started", true)), "1 4 3 2") << "who has not started comes last";
  EXPECT_EQ(ids(sorted("active", "started", false)), "1 2 3 4");
  EXPECT_EQ(ids(sorted("active", "position", false)), "3 2 4 1");
  EXPECT_EQ(ids(sorted("queued,cancelled", "id", true)), "4 3 2 5");
  ListJobs second = sorted("active", "name", false);
  second.offset = 1;
  second.limit = 2;
  EXPECT_EQ(ids(second), "3 4");

  EXPECT_EQ(ids(searched("ETA")), "1 3");
  EXPECT_EQ(ids(searched("%")), "5");
  EXPECT_EQ(ids(searched("bob")), "3 4");
  EXPECT_EQ(ids(searched("4")), "4");
  EXPECT_EQ(ids(searched("bob"), kListBob), "3 4");
  EXPECT_EQ(ids(searched("zeta"), kListBob), "") << "users find only jobs they may see";
  EXPECT_EQ(ask(searched(""), 200, kListOperator)["counts"],
            json({{"running", 1}, {"queued", 3}, {"cancelled", 1}}));
  EXPECT_EQ(ask(searched("eta"), 200, kListOperator)["counts"],
            json({{"running", 1}, {"queued", 1}}));
  ask(CancelJob{"3"}, 200, kListBob);
  EXPECT_EQ(ask(searched("eta"), 200, kListOperator)["counts"],
            json({{"running", 1}, {"cancelled", 1}}));
}

TEST_F(ManagerListsTest, WhoNamesNoTenantIsTheDefaults) {
  start();
  ask(named("a", 2), 201);
  ask(named("b"), 201);
  ask(CancelJob{"2"}, 200);
  EXPECT_EQ(ids({"all", "", "default", 50, 0}), "1 2");
  EXPECT_EQ(ids({"all", "", "other", 50, 0}), "");
}

TEST_F(ManagerListsTest, SaysWhichPlaceOneHasAndWhatOneHolds) {
  start();
  ask(named("a", 2), 201);
  ask(named("b"), 201);
  ask(named("c", 1, 3), 201, kListBob);
  const json mine = ask(ListJobs{}, 200)["jobs"];
  ASSERT_EQ(mine.size(), 2U);
  EXPECT_EQ(mine[0]["gpus_held"], 2);
  EXPECT_FALSE(mine[0].contains("position"));
  EXPECT_EQ(mine[1]["gpus_held"], 0);
  EXPECT_EQ(mine[1]["position"], 2) << "behind another user's";
  EXPECT_FALSE(mine[1].contains("eta")) << "no predictions were requested";
}

TEST_F(ManagerListsTest, APlaceIsInTheSchedulersOrder) {
  start(scheduling("scheduler: {policy: srtf, retry: none, estimates: user}"));
  for (const int seconds : {100, 900, 300, 600}) {
    SubmitJob call = named("a", 2);
    call.request.estimate = Duration::seconds(seconds);
    ask(call, 201);
  }
  EXPECT_EQ(ids(ListJobs{}), "1 3 4 2");
  EXPECT_EQ(ids(sorted("active", "position", false)), "3 4 2 1");
  EXPECT_EQ(ids(sorted("active", "position", true)), "2 4 3 1") << "who has no place comes last";
  EXPECT_EQ(ask(ListJobs{}, 200)["jobs"][1]["position"], 1);
}

TEST_F(ManagerListsTest, WhoIsAboutToStartIsFirstAndWhoIsStoppedHasNoPlace) {
  start(scheduling("scheduler: {policy: srtf, retry: none, estimates: user, min_run: 0s}"));
  for (const int seconds : {1000, 2000, 2001, 5}) {
    SubmitJob call = named("a", 2);
    call.request.estimate = Duration::seconds(seconds);
    ask(call, 201);
    if (seconds == 1000) tell(LeaseUpInput{1, 1, "full"});
  }
  ASSERT_EQ(ask(ShowJob{"1"}, 200)["state"], "stopping");
  EXPECT_EQ(ids(sorted("active", "position", false)), "4 2 3 1");
  EXPECT_EQ(ids(ListJobs{}), "1 4 2 3");
  EXPECT_EQ(ask(ListJobs{}, 200)["jobs"][1]["position"], 1);
  EXPECT_FALSE(ask(ListJobs{}, 200)["jobs"][0].contains("position"));
}

TEST_F(ManagerListsTest, WithoutAnOrderThereIsNoPlace) {
  start(scheduling("scheduler: {policy: tetris, retry: none}"));
  for (int i = 0; i < 3; ++i) ask(named("a", 2, i), 201);
  EXPECT_EQ(ids(ListJobs{}), "1 3 2") << "by priority, so that the list has some order";
  EXPECT_FALSE(ask(ListJobs{}, 200)["jobs"][1].contains("position"));
}

TEST_F(ManagerListsTest, ForetellsStartsWhileSomebodyWatches) {
  start();
  for (int i = 0; i < 5; ++i) {
    SubmitJob call = named("a", 2);
    call.request.estimate = Duration::seconds(600);
    ask(call, 201);
  }
  tell(LeaseUpInput{1, 1, "full"});
  ListJobs list;
  list.counts = true;
  json jobs;
  for (int i = 0; i < 3'000; ++i) {
    jobs = ask(list, 200)["jobs"];
    if (jobs[4].contains("eta")) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_TRUE(jobs[4].contains("eta")) << jobs[4];
  EXPECT_FALSE(jobs[0].contains("eta")) << "it runs";
  const json eta = jobs[1]["eta"];
  const double now = ask(ShowMe{}, 200)["now"].get<double>();
  EXPECT_GE(eta["soonest"].get<double>(), now - 1);
  EXPECT_LE(eta["soonest"], eta["likely"]);
  EXPECT_LE(eta["likely"], eta["latest"]);
  EXPECT_LT(eta["likely"], jobs[4]["eta"]["likely"]);
  ask(HoldJob{"5"}, 200);
  ask(ReleaseJob{"5"}, 200);
  EXPECT_FALSE(ask(ListJobs{"", "", "", 1, 4}, 200)["jobs"][0].contains("eta"))
      << "it was another wait";
}

// Measured in CPU time of the thread, so that the load of the machine does not matter.
// MUSTER_LONG=1 uses fifty thousand jobs, which take minutes to submit under sanitizers.
TEST_F(ManagerListsTest, IsQuickWithThousandsOfJobs) {
  if (is_short_campaign()) GTEST_SKIP() << "it measures time";
  const int times = std::getenv("MUSTER_LONG") != nullptr ? 10 : 1;
  snapshot_every_ = 1'000'000;  // They are not what is measured.
  start(scheduling(kPlain, 8));
  SubmitJob many = named("sweep-of-learning-rates");
  many.request.array = ArrayRange{0, 999, 1, 0};
  for (int i = 0; i < times * 5; ++i) ask(many, 201);
  clockid_t clock{};
  ASSERT_EQ(::pthread_getcpuclockid(thread_.native_handle(), &clock), 0);
  const auto spent_ms = [&] {
    timespec now{};
    EXPECT_EQ(::clock_gettime(clock, &now), 0);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
  };
  double worst = 0;  // Includes the occasional copy for a forecast.
  const auto best_of = [&](const ListJobs& list) {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      const double begun = spent_ms();
      for (const Call& call : {Call(list), Call(ShowHealth{})}) {
        std::promise<void> over;
        manager_->call(kListOperator, call, [&](const Answer&) { over.set_value(); });
        over.get_future().wait();
      }
      const double took = spent_ms() - begun;
      best = std::min(best, took);
      worst = std::max(worst, took);
    }
    return best;
  };
  ListJobs list;
  list.limit = 200;
  list.counts = true;
  std::printf("the first 200: %.1f ms\n", best_of(list));
  list.offset = static_cast<std::size_t>(times) * 4'000;
  const double plain = best_of(list);
  std::printf("200 after %zu: %.1f ms\n", list.offset, plain);
  list.sort = "name";
  std::printf("by name: %.1f ms\n", best_of(list));
  list.search = "rates";
  const double found = best_of(list);
  std::printf("by name, searched: %.1f ms\n", found);
  list.limit = 1'000;
  std::printf("a thousand of them: %.1f ms\n", best_of(list));
  std::printf("the most: %.1f ms\n", worst);
  // Many times what they take, since tests are not optimised and may be watched by sanitizers.
  EXPECT_LT(plain, 100 + times * 10);
  EXPECT_LT(found, 100 + times * 30);
}

}  // namespace
}  // namespace muster
