// Queries about the manager's past, and access to them.

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>

#include "engine/roster/placement_text.h"
#include "live/manager/manager_testing.h"
#include "live/query/past_window.h"

namespace muster {
namespace {

using nlohmann::json;

const Caller kBob{"bob", false};
const Caller kChief{"root", true};

SubmitJob job_of(const std::string& tenant, int gpus) {
  SubmitJob call;
  call.request.name = "<b>train";
  call.request.command = {"true"};
  call.request.gpus = gpus;
  call.request.tenant = tenant;
  return call;
}

TEST(Placed, IsReadAsItWasWritten) {
  const std::vector<PlacedOn> places = read_placed("n1:0-1+3,rack/n2:5");
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].node, "n1");
  EXPECT_EQ(places[0].gpus, 0b1011u);
  EXPECT_EQ(places[1].node, "rack/n2");
  EXPECT_EQ(places[1].gpus, 0b100000u);
  for (const char* wrong : {"", "n1", "n1:", "n1:a", "n1:2-1", "n1:0-1-2", "n1:64", "n1:0,n2"}) {
    EXPECT_TRUE(read_placed(wrong).empty()) << wrong;
  }
  std::string cut = "n:0-15";
  while (cut.size() < kMaxPlacedText) cut = "some-server:0-7," + cut;
  EXPECT_TRUE(read_placed(cut.substr(0, kMaxPlacedText)).empty()) << "its end is missing";
}

class PastTest : public ManagerTest {
 protected:
  // The first has ended, the second runs, the third waits.
  void begin() {
    start();
    ask(job(1), 201);
    ask(job(1), 201);
    ask(job(2), 201);
    for (const LiveId id : {LiveId{1}, LiveId{2}}) tell(LeaseUpInput{id, 1, "full"});
    tell(LeaseOverInput{1, 1, LeaseResult::kFinished, "", "", 2000, 1500, 10});
  }
};

TEST_F(PastTest, ShowsWhoHeldWhichGpu) {
  begin();
  const json timeline = ask(ShowTimeline{}, 200);
  EXPECT_EQ(timeline["unit"], "unix");
  EXPECT_EQ(timeline["servers"], json::parse(R"([{"name":"here","gpus":2}])"));
  EXPECT_EQ(timeline["bars"]["row"], json::parse("[0,1]"));
  EXPECT_EQ(timeline["jobs"]["id"], json::parse(R"(["1","2"])"));
  EXPECT_EQ(timeline["jobs"]["user"][0], "ann");
  EXPECT_EQ(timeline["tenants"], json::parse(R"(["default"])"));
  const auto end = [&](std::size_t bar) {
    return timeline["ends"][timeline["bars"]["end"][bar].get<std::size_t>()];
  };
  EXPECT_EQ(end(0), "finished");
  EXPECT_EQ(end(1), "running");
  EXPECT_EQ(timeline["causes"][timeline["jobs"]["cause"][0].get<std::size_t>()], "did not wait");
  EXPECT_EQ(timeline["load"]["busy"].back(), 1);
  EXPECT_EQ(timeline["load"]["waiting"].back(), 1);
  const double now = timeline["to"].get<double>();
  EXPECT_NEAR(now, static_cast<double>(std::time(nullptr)), 60);
  EXPECT_TRUE(ask(ShowTimeline{{}, 1000, 2000}, 200)["bars"]["row"].empty());
  EXPECT_EQ(ask(ShowTimeline{{}, now - 1000, now + 1000}, 200)["bars"]["row"].size(), 2u);
}

TEST_F(PastTest, OthersJobsHaveNoNames) {
  begin();
  const json timeline = ask(ShowTimeline{}, 200, kBob);
  EXPECT_EQ(timeline["bars"]["row"].size(), 2u);
  for (const char* key : {"id", "name", "user"}) {
    EXPECT_EQ(timeline["jobs"][key], json::parse(R"(["",""])")) << key;
  }
  EXPECT_EQ(timeline["jobs"]["tenant"], json::parse("[0,0]"));
  EXPECT_EQ(timeline["jobs"]["cause"], json::parse("[0,0]")) << "nor is it told why they waited";
  std::vector<std::string> ends = timeline["ends"].get<std::vector<std::string>>();
  std::sort(ends.begin(), ends.end());
  EXPECT_EQ(ends, (std::vector<std::string>{"over", "running"})) << "nor how they ended";
  EXPECT_EQ(ask(ShowTimeline{}, 200, kChief)["jobs"]["id"][0], "1");
}

TEST_F(PastTest, HasNoRunsAndNoPages) {
  begin();
  ask(ShowTimeline{0, {}, {}}, 404);
  ask(ShowUsage{0, {}, {}, 10}, 404);
  ask(ListRuns{}, 404);
  ask(CompareRuns{{0}, 0}, 404);
  ask(ShowPage{0}, 404);
  ask(ShowTimeline{{}, 9e9, {}}, 400);
}

TEST_F(PastTest, TellsWhoHoldsWhoseShare) {
  start(
      scheduling("scheduler: {policy: fifo}\n"
                 "tenants:\n  list:\n    - {name: red, quota: 2}\n    - {name: blue, quota: 2}\n",
                 4));
  ask(job_of("red", 3), 201);
  ask(job_of("blue", 2), 201, kBob);  // There is one GPU left.
  tell(LeaseUpInput{1, 1, "full"});
  const json usage = ask(ShowUsage{{}, {}, {}, 4}, 200, kBob);
  EXPECT_EQ(usage["gpus"], 4);
  EXPECT_EQ(usage["times"].size(), 4u);
  const json& red = usage["tenants"][0];
  const json& blue = usage["tenants"][1];
  EXPECT_EQ(red["name"], "red");
  EXPECT_EQ(red["quota"], 2);
  EXPECT_EQ(red["used_now"], 3);
  EXPECT_EQ(red["borrowed_now"], 1);
  EXPECT_EQ(red["running"], 1);
  EXPECT_EQ(blue["queued"], 1);
  EXPECT_EQ(blue["lent_now"], 1);
  EXPECT_EQ(red["used"].size(), 4u);
  ASSERT_EQ(usage["holders"].size(), 1u);
  const json& holder = usage["holders"][0];
  EXPECT_EQ(holder["tenant"], "red");
  EXPECT_EQ(holder["of"], "blue");
  EXPECT_EQ(holder["gpus"], 3);
  EXPECT_FALSE(holder.contains("name")) << "bob may not know";
  EXPECT_EQ(ask(ShowUsage{{}, {}, {}, 4}, 200)["holders"][0]["name"], "<b>train");
}

TEST_F(PastTest, WhoWantsNothingIsOwedNothing) {
  start(
      scheduling("scheduler: {policy: fifo}\n"
                 "tenants:\n  list:\n    - {name: red, quota: 2}\n    - {name: blue, quota: 2}\n",
                 4));
  ask(job_of("red", 3), 201);
  SubmitJob held = job_of("blue", 2);
  held.request.hold = true;
  ask(held, 201, kBob);
  SubmitJob later = job_of("blue", 2);
  later.request.after_any = {1};
  ask(later, 201, kChief);
  const json usage = ask(ShowUsage{{}, {}, {}, 4}, 200);
  EXPECT_EQ(usage["tenants"][1]["queued"], 0) << "one is held, the other blocked";
  EXPECT_EQ(ask(ListTenants{}, 200)["tenants"][1]["queued"], 0);
  EXPECT_TRUE(usage["holders"].empty());
  ask(ReleaseJob{"2"}, 200, kBob);
  const json released = ask(ShowUsage{{}, {}, {}, 4}, 200);
  EXPECT_EQ(released["tenants"][1]["queued"], 1);
  EXPECT_EQ(ask(ListTenants{}, 200)["tenants"][1]["queued"], 1);
  EXPECT_EQ(released["holders"].size(), 1u);
}

// Quotas that no decision uses are not shown.
TEST_F(PastTest, SharedByWeightNobodyBorrows) {
  start(
      scheduling("scheduler: {policy: fifo}\n"
                 "tenants:\n  share: weight\n  list:\n    - {name: red, quota: 1, weight: 3}\n"
                 "    - {name: blue, quota: 3}\n",
                 4));
  ask(job_of("red", 3), 201);
  ask(job_of("blue", 2), 201, kBob);
  tell(LeaseUpInput{1, 1, "full"});
  const json usage = ask(ShowUsage{{}, {}, {}, 4}, 200);
  EXPECT_EQ(usage["tenants"][0]["used_now"], 3);
  for (const json& tenant : usage["tenants"]) {
    EXPECT_EQ(tenant["quota"], 0);
    EXPECT_EQ(tenant["borrowed_now"], 0);
    EXPECT_EQ(tenant["lent_now"], 0);
  }
  EXPECT_TRUE(usage["holders"].empty());
}

// The number of leases is limited, and the answer reports what is missing.
TEST_F(PastTest, SaysWhatItLeavesOut) {
  begin();
  tell(LeaseOverInput{2, 1, LeaseResult::kFinished, "", "", 2000, 1500, 10});
  tell(LeaseUpInput{3, 1, "full"});  // It waited for both.
  PastWindow look;
  look.database = home_ + "/journal.db";
  look.caller = kChief;
  look.whole = look.window = {Instant(), Instant::micros(std::int64_t{1} << 50U)};
  look.nodes = {{"here", 2}};
  look.gpus = 2;
  const json all = json::parse(usage_answer(look, 2).value().body);
  EXPECT_EQ(all["missing"], "");
  EXPECT_EQ(all["from"], 0);
  EXPECT_EQ(json::parse(timeline_answer(look).value().body)["thinned"], "");
  look.most_leases = 1;
  const json part = json::parse(usage_answer(look, 2).value().body);
  EXPECT_EQ(part["missing"], "only the last 1 lease in this period, so the window starts later");
  EXPECT_GT(part["from"], 0);
  EXPECT_EQ(part["to"], all["to"]);
  EXPECT_EQ(json::parse(timeline_answer(look).value().body)["thinned"],
            "only the last 1 lease in this period");
  look.most_leases = 10;
  look.most_gpus = 3;
  const json line = json::parse(timeline_answer(look).value().body);
  EXPECT_EQ(line["bars"]["row"].size(), 3u) << "that of two GPUs, and one more";
  EXPECT_EQ(line["thinned"], "only the last 1 lease in this period");
}

TEST_F(PastTest, WithoutQuotasThereIsOneTenant) {
  begin();
  const json usage = ask(ShowUsage{{}, {}, {}, 3}, 200);
  ASSERT_EQ(usage["tenants"].size(), 1u);
  EXPECT_EQ(usage["tenants"][0]["name"], "default");
  EXPECT_EQ(usage["tenants"][0]["quota"], 2);
  EXPECT_EQ(usage["tenants"][0]["used_now"], 1);
  EXPECT_TRUE(usage["holders"].empty());
}

// A user who asks repeatedly does not block other users.
TEST_F(PastTest, OneUserTakesAFewPlacesOnly) {
  begin();
  constexpr int kMany = 300;
  std::atomic<int> answered = 0;
  std::atomic<int> refused = 0;
  PlanJob plan{job(1).request};
  for (int i = 0; i < kMany; ++i) {
    const Call call = i % 2 == 0 ? Call(ShowUsage{{}, 0, {}, 1000}) : Call(plan);
    manager_->call(kBob, call, [&](const Answer& answer) {
      EXPECT_TRUE(answer.status == 200 || answer.status == 429) << answer.body;
      refused += answer.status == 429 ? 1 : 0;
      ++answered;
    });
  }
  ask(plan, 200);
  ask(ShowTimeline{}, 200);
  EXPECT_GT(refused, 0) << "else there was no crowd";
  while (answered < kMany) std::this_thread::yield();
  ask(ShowTimeline{}, 200, kBob);
}

// One question at a time, by operators, on another thread than the manager's.
TEST_F(PastTest, AnswersOneWhatIfAtATime) {
  std::promise<void> release;
  std::shared_future<void> released = release.get_future();
  what_if_ = [released](const ShowWhatIf& asked, const std::function<bool()>& go_on) {
    released.wait();
    EXPECT_TRUE(go_on());
    return asked.policy == "srft" ? Result<std::string>(Error{"policy: did you mean 'srtf'?"})
                                  : Result<std::string>(R"({"title":"so"})");
  };
  begin();
  ShowWhatIf question;
  question.policy = "srtf";
  ask(question, 403);
  std::promise<Answer> first;
  manager_->call(kChief, question, [&](Answer answer) { first.set_value(answer); });
  ask(question, 429, kChief);
  ask(ShowHealth{}, 200);
  release.set_value();
  EXPECT_EQ(first.get_future().get().body, R"({"title":"so"})");
  question.policy = "srft";
  json answer;
  for (int status = 429; status == 429;) {  // The thread may not be done with the first yet.
    std::promise<Answer> again;
    manager_->call(kChief, question, [&](Answer said) { again.set_value(said); });
    const Answer said = again.get_future().get();
    status = said.status;
    answer = json::parse(said.body);
  }
  EXPECT_EQ(answer["error"], "policy: did you mean 'srtf'?");
}

// A later answer would have no receiver, and would block the next question.
TEST_F(PastTest, StopsAWhatIfThatTakesTooLong) {
  what_if_time_ = Duration::micros(50'000);
  what_if_ = [](const ShowWhatIf&, const std::function<bool()>& go_on) {
    while (go_on()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Result<std::string>(Error{"stopped before it was done"});
  };
  begin();
  EXPECT_EQ(ask(ShowWhatIf{"srtf", "", "", {}}, 503, kChief)["error"],
            "the simulation timed out; set a later `since`");
  ask(ShowWhatIf{"fifo", "", "", {}}, 503, kChief);  // Not 429: the simulation has ended.
}

// A manager that must stop does not wait for a simulation.
TEST_F(PastTest, AWhatIfEndsWithTheManagerWhateverEndedIt) {
  std::promise<void> begun;
  what_if_ = [&](const ShowWhatIf&, const std::function<bool()>& go_on) {
    begun.set_value();
    while (go_on()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Result<std::string>(Error{"stopped before it was done"});
  };
  ASSERT_EQ(open(scheduling(kPlain)), "");
  manager_->use(runner_);
  thread_ = std::thread([this] { EXPECT_TRUE(manager_->run()); });
  manager_->call(kChief, ShowWhatIf{"srtf", "", "", {}}, [](Answer) {});
  begun.get_future().wait();
  sqlite3* other = nullptr;  // Blocks all writes permanently.
  ASSERT_EQ(sqlite3_open((home_ + "/journal.db").c_str(), &other), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(other,
                         "CREATE TRIGGER never BEFORE INSERT ON entries "
                         "BEGIN SELECT RAISE(ABORT, 'never'); END",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(other);
  manager_->call(kChief, job(1), [](Answer) {});
  thread_.join();
  const auto start = std::chrono::steady_clock::now();
  manager_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace muster
