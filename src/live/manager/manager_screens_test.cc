// The queries of the dashboard.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/types/version.h"
#include "live/config/learned_profiles.h"
#include "live/manager/manager_testing.h"

namespace muster {
namespace {

using nlohmann::json;

const Caller kScreenOperator{"root", true};

using ManagerScreens = ManagerTest;

TEST_F(ManagerScreens, SayWhoCallsAndWhatThereIs) {
  start();
  ask(job(), 201);
  const json me = ask(ShowMe{}, 200);
  EXPECT_EQ(me["mode"], "live");
  EXPECT_EQ(me["user"], "ann");
  EXPECT_EQ(me["operator"], false);
  EXPECT_EQ(me["version"], kMusterVersion);
  EXPECT_EQ(me["scheduler"], "fifo, proportional, consolidate");
  EXPECT_EQ(me["cluster"], "1 node, 2 GPUs");
  EXPECT_GT(me["now"].get<double>(), 1.7e9);
  EXPECT_EQ(me["screens"].size(), 7U);
  const json events = ask(ListEvents{}, 200, kScreenOperator)["events"];
  EXPECT_EQ(me["last_event"], events.back()["number"]);
  EXPECT_EQ(ask(ShowMe{}, 200, kScreenOperator)["operator"], true);
}

TEST_F(ManagerScreens, ShowTheFleet) {
  start();
  ask(job(), 201);
  const json fleet = ask(ShowFleet{}, 200);
  EXPECT_EQ(fleet["totals"]["used"], 1);
  EXPECT_EQ(fleet["totals"]["free"], 1);
  EXPECT_EQ(fleet["nodes"][0]["gpus"], json({0, -1}));
  EXPECT_EQ(fleet["use_of"], "none");
}

TEST_F(ManagerScreens, ShowAJobWhole) {
  start(scheduling("scheduler: {policy: fifo, retry: none, mechanism: tune}"));
  SubmitJob call = job();
  call.request.model = "res50";
  ask(call, 201);
  tell(LeaseUpInput{1, 1, "full"});
  std::filesystem::create_directories(home_ + "/leases/j1.e1");
  std::ofstream(home_ + "/leases/j1.e1/progress.jsonl")
      << "{\"step\":1,\"loss\":4,\"rate\":2}\n{\"step\":2,\"loss\":3}\n";
  EXPECT_FALSE(is_answered_at_once(ShowWholeJob{"1"})) << "there are files to read";
  json page = ask(ShowWholeJob{"1"}, 200);
  EXPECT_EQ(page["job"]["state"], "running");
  EXPECT_EQ(page["job"]["leases"].size(), 1U);
  EXPECT_EQ(page["job"]["request"]["command"][0], "true");
  EXPECT_EQ(page["actions"], json({"hold", "cancel"}));
  EXPECT_EQ(page["progress"]["step"], json({1.0, 2.0}));
  EXPECT_EQ(page["progress"]["rate"], json({2.0, nullptr}));
  EXPECT_EQ(page["events"].front()["kind"], "submitted");
  EXPECT_EQ(page["events"].back()["kind"], "started");
  const json curve = page["curve"];
  EXPECT_EQ(curve["source"], "profile res50");
  ASSERT_EQ(curve["cpus"].size(), curve["speed"].size());
  EXPECT_TRUE(std::is_sorted(curve["cpus"].begin(), curve["cpus"].end()));
  EXPECT_TRUE(std::is_sorted(curve["speed"].begin(), curve["speed"].end()));
  EXPECT_NEAR(curve["speed"].back().get<double>(), 1, 1e-6);
  EXPECT_EQ(curve["now"]["cpus"], page["job"]["cpus"]);
  EXPECT_GT(curve["need"].get<double>(), 0);
  EXPECT_EQ(curve["share"]["cpus"], 2.0);

  ask(ShowWholeJob{"1"}, 404, {"bob", false});
  ask(ShowWholeJob{"1"}, 200, kScreenOperator);
  ask(HoldJob{"1"}, 200);
  EXPECT_EQ(ask(ShowWholeJob{"1"}, 200)["actions"], json({"release", "cancel"}));
  ask(CancelJob{"1"}, 200);
  EXPECT_EQ(ask(ShowWholeJob{"1"}, 200)["actions"], json::array());
  LeaseOverInput over;
  over.id = 1;
  over.lease = 1;
  over.fate = LeaseResult::kStopped;
  tell(over);
  page = ask(ShowWholeJob{"1"}, 200);
  EXPECT_EQ(page["actions"], json({"retry"}));
  EXPECT_EQ(page["progress"]["step"], json({1.0, 2.0})) << "still kept";
  EXPECT_EQ(page["curve"]["source"], "profile res50");
  EXPECT_FALSE(page["curve"].contains("now"));
}

// A picture for questions about the future is shared for a second, but not beyond its settings.
TEST_F(ManagerScreens, PlanByAProfileThatHasJustCome) {
  start(scheduling("scheduler: {policy: fifo, mechanism: tune}"));
  PlanJob plan{job().request};
  ask(plan, 200);
  LearnedProfile learned;
  learned.measured.name = "given again";
  learned.measured.curve.add({500, 41, 0.02});
  learned.measured.curve.add({1000, 41, 0.01});
  learned.time = Duration::seconds(12);
  json body = json::parse(learned_profile_json(learned));
  body["name"] = plan.request.name;
  body["command"] = plan.request.command;
  ask(KeepProfile{body.dump()}, 200);
  EXPECT_EQ(ask(plan, 200)["verdict"], "now");
}

// It is read recursively, and any user may send it.
TEST_F(ManagerScreens, RefuseAProfileThatIsTooDeep) {
  start();
  constexpr std::size_t kDepth = 400'000;
  const std::string body = R"({"name":"p","command":["x"],"gpus":1,"points":[[500,1,0]],"x":)" +
                           std::string(kDepth, '[') + std::string(kDepth, ']') + "}";
  EXPECT_EQ(ask(KeepProfile{body}, 400)["error"], "not a measured profile: nested too deeply");
}

// An acknowledged profile is in use, which is impossible while a lease is stopping.
TEST_F(ManagerScreens, KeepAProfileBeforeTheySaySo) {
  start(scheduling("scheduler: {policy: fifo, mechanism: tune}"));
  ask(job(), 201);
  tell(LeaseUpInput{1, 1, "full"});
  ask(CancelJob{"1"}, 200);
  EXPECT_EQ(ask(HoldJob{"1"}, 409)["error"], "job 1 is being cancelled");
  LearnedProfile learned;
  learned.measured.curve.add({500, 41, 0.02});
  learned.measured.curve.add({1000, 41, 0.01});
  learned.time = Duration::seconds(12);
  json body = json::parse(learned_profile_json(learned));
  body["name"] = "train";
  body["command"] = {"true"};
  std::promise<int> said;
  manager_->call({"ann", false}, KeepProfile{body.dump()},
                 [&](const Answer& answer) { said.set_value(answer.status); });
  std::future<int> status = said.get_future();
  ask(ShowHealth{}, 200);
  EXPECT_EQ(status.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  tell(LeaseOverInput{1, 1, LeaseResult::kStopped, "", "", 2000, 1500, 10});
  EXPECT_EQ(status.get(), 200);
  end();
  start(scheduling("scheduler: {policy: fifo, mechanism: tune}"));
  EXPECT_EQ(ask(ListProfiles{}, 200)["profiles"].size(), 1U);
}

TEST_F(ManagerScreens, PlanSaysWhomItStops) {
  start(scheduling("scheduler: {policy: srtf, min_run: 0s, estimates: user}"));
  SubmitJob longer = job(2);
  longer.request.estimate = Duration::seconds(36'000);
  ask(longer, 201);
  tell(LeaseUpInput{1, 1, "full"});
  PlanJob plan{job(1).request};
  plan.request.estimate = Duration::seconds(60);
  const std::string says = ask(plan, 200)["says"];
  EXPECT_TRUE(says.starts_with("would start now on here, with 1 GPU, ")) << says;
  EXPECT_TRUE(says.ends_with(", after job 1 (ann, 2 GPUs) has been preempted")) << says;
}

TEST_F(ManagerScreens, AJobOfWhichNothingIsKnownHasNoCurve) {
  start();
  ask(job(), 201);
  const json page = ask(ShowWholeJob{"1"}, 200);
  EXPECT_FALSE(page.contains("curve"));
  EXPECT_TRUE(page["progress"]["at"].empty());
}

TEST_F(ManagerScreens, TellWhatHappenedToAServer) {
  start();
  const json before = ask(ListNodes{}, 200)["nodes"][0];
  EXPECT_FALSE(before.contains("recent"));
  const std::string name = before["name"].get<std::string>();
  for (int i = 0; i < 7; ++i) {
    ask(DrainNode{name}, 200, kScreenOperator);
    ask(UndrainNode{name}, 200, kScreenOperator);
  }
  json recent = ask(ListNodes{}, 200)["nodes"][0]["recent"];
  ASSERT_EQ(recent.size(), 10U);
  EXPECT_EQ(recent.back()["kind"], "node-opened");
  EXPECT_LT(recent[0]["number"], recent[9]["number"]);
  end();
  start();
  EXPECT_EQ(ask(ListNodes{}, 200)["nodes"][0]["recent"], recent) << "as before the restart";
}

class ManagerRetry : public ManagerTest {
 protected:
  void ends(LiveId id, LeaseResult fate) {
    LeaseOverInput over;
    over.id = id;
    over.lease = 1;
    over.fate = fate;
    tell(over);
  }
};

TEST_F(ManagerRetry, SubmitsTheSameOnceMore) {
  start();
  SubmitJob call = job(2);
  call.request.env = {{"SEED", "7"}};
  call.request.priority = 4;
  ask(call, 201);
  ask(RetryJob{"1"}, 409);
  tell(LeaseUpInput{1, 1, "full"});
  ends(1, LeaseResult::kFailed);
  EXPECT_EQ(state(1), "failed");
  EXPECT_EQ(ask(RetryJob{"1"}, 201), json({{"id", 2}, {"of", 1}}));
  const json again = ask(ShowJob{"2"}, 200);
  EXPECT_EQ(again["request"], ask(ShowJob{"1"}, 200)["request"]);
  EXPECT_EQ(again["state"], "starting");
  ask(RetryJob{"1"}, 404, {"bob", false});
  EXPECT_EQ(ask(RetryJob{"1"}, 201, kScreenOperator)["id"], 3);
  EXPECT_EQ(ask(ShowJob{"3"}, 200)["user"], "ann") << "as whose it was";
  ask(RetryJob{"9"}, 404);
  ask(RetryJob{"1_*"}, 409);
}

TEST_F(ManagerRetry, DropsDependenciesThatAreOver) {
  start();
  ask(job(2), 201);
  ask(job(), 201);
  SubmitJob after = job();
  after.request.after_ok = {1};
  after.request.after_any = {2};
  ask(after, 201);
  ask(CancelJob{"3"}, 200);
  tell(LeaseUpInput{1, 1, "full"});
  ends(1, LeaseResult::kFailed);
  ask(RetryJob{"3"}, 201);
  const json request = ask(ShowJob{"4"}, 200)["request"];
  EXPECT_FALSE(request.contains("after_ok"));
  EXPECT_EQ(request["after_any"], json({2}));
}

TEST_F(ManagerRetry, OneOfAnArrayAloneWithItsIndex) {
  start();
  SubmitJob call = job();
  call.request.array = ArrayRange{3, 5, 1, 1};
  ask(call, 201);
  ask(CancelJob{"1_5"}, 200);
  EXPECT_EQ(ask(RetryJob{"1_5"}, 201), json({{"id", 4}, {"of", 3}}));
  const json again = ask(ShowJob{"4"}, 200);
  EXPECT_EQ(again["index"], 5);
  EXPECT_EQ(again["array"], 4);
}

}  // namespace
}  // namespace muster
