// The answers of the manager to each kind of caller.

#include <filesystem>
#include <fstream>

#include "live/manager/manager_testing.h"

namespace muster {
namespace {

using nlohmann::json;

TEST_F(ManagerTest, AnswersWithAnIdAndOrdersTheStart) {
  start();
  EXPECT_EQ(ask(job(), 201)["id"], 1);
  const std::vector<LeaseOrder> orders = runner_.take();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].specs.at(0).job, 1);
  EXPECT_EQ(orders[0].specs.at(0).cpu_milli, 2000);
  EXPECT_EQ(state(1), "starting");
  tell(LeaseUpInput{1, 1, "full"});
  EXPECT_EQ(state(1), "running");
  tell(LeaseOverInput{1, 1, LeaseResult::kFinished, "", "", 2000, 1500, 10});
  const json shown = ask(ShowJob{"1"}, 200);
  EXPECT_EQ(shown["state"], "done");
  EXPECT_EQ(shown["leases"][0]["cpu_s"], 1.5);
  EXPECT_EQ(ask(ListJobs{}, 200)["total"], 0);
  EXPECT_EQ(ask(ListJobs{"ended", "", "", 10, 0}, 200)["jobs"].size(), 1U);
}

TEST_F(ManagerTest, ListsJobsInTheOrderOfTheQueue) {
  start();
  ask(job(2), 201);  // Runs.
  SubmitJob call = job();
  call.request.hold = true;
  ask(call, 201);
  ask(job(), 201);
  call = job();
  call.request.priority = 3;
  ask(call, 201);
  call.request.array = ArrayRange{0, 2, 1, 0};
  ask(call, 201);  // 5 to 7.
  ask(CancelJob{"6"}, 200);
  ask(CancelJob{"7"}, 200);
  const auto ids = [&](ListJobs list) {
    const json page = ask(list, 200);
    std::string text = page["total"].dump() + ":";
    for (const json& each : page["jobs"]) text += " " + each["id"].dump();
    return text;
  };
  EXPECT_EQ(ids({"active", "", "", 50, 0}), "5: 1 4 5 3 2");
  EXPECT_EQ(ids({"active", "", "", 2, 1}), "5: 4 5");
  EXPECT_EQ(ids({"all", "", "", 50, 0}), "7: 1 4 5 3 2 7 6");
  EXPECT_EQ(ids({"all", "", "", 3, 4}), "7: 2 7 6");
  EXPECT_EQ(ids({"all", "", "", 3, 6}), "7: 6");
  EXPECT_EQ(ids({"ended", "", "", 1, 1}), "2: 6");
  EXPECT_EQ(ids({"queued", "", "", 50, 0}), "3: 4 5 3");
  EXPECT_EQ(ids({"all", "", "", 50, 0, 5}), "3: 5 6 7");
  EXPECT_EQ(ids({"cancelled", "", "", 50, 1, 5}), "2: 7");
  EXPECT_EQ(ids({"all", "", "", 50, 0, 4}), "0:");
}

TEST_F(ManagerTest, ChangesOnlyWhatWasNamedWhole) {
  start();
  ask(job(), 201, {"bob", false});
  for (int i = 2; i <= 11; ++i) ask(job(2), 201);
  const json refusal = ask(CancelJob{"1"}, 404);
  EXPECT_EQ(refusal["error"], "no such job: 1; use a full id to change a job: 11, 10");
  EXPECT_EQ(state(10), "queued");
  EXPECT_EQ(state(11), "queued");
  EXPECT_EQ(ask(CancelJob{"5_*"}, 404)["error"], "no array with active jobs: 5_*");
}

TEST_F(ManagerTest, AnArrayIsChangedAsOne) {
  start();
  ask(job(2), 201);
  SubmitJob call = job();
  call.request.array = ArrayRange{0, 3, 1, 0};
  ask(call, 201);  // 2 to 5.
  ask(HoldJob{"2"}, 200);
  EXPECT_EQ(state(3), "queued");
  EXPECT_EQ(ask(HoldJob{"2_*"}, 200)["jobs"].size(), 3U) << "one was held already";
  EXPECT_EQ(ask(HoldJob{"2_*"}, 409)["error"], "job 5 is already held");
  EXPECT_EQ(ask(ReleaseJob{"2_3"}, 200), (json{{"id", 5}, {"state", "queued"}, {"array", 2}}));
  ask(CancelJob{"2_*"}, 404, {"bob", false});
  const json gone = ask(CancelJob{"2_*"}, 200);
  EXPECT_EQ(gone["jobs"].size(), 4U);
  EXPECT_EQ(gone["array"], 2);
  EXPECT_EQ(state(1), "starting");
  EXPECT_EQ(ask(ListJobs{"cancelled", "", "", 50, 0}, 200)["total"], 4);
}

TEST_F(ManagerTest, OthersJobsAreNobodysBusiness) {
  start();
  ask(job(), 201);
  const Caller bob{"bob", false};
  const Caller chief{"root", true};
  ask(ShowJob{"1"}, 404, bob);
  ask(CancelJob{"1"}, 404, bob);
  ask(FindLog{"1", std::nullopt, 0}, 404, bob);
  ask(DrainNode{"here"}, 403, bob);
  EXPECT_EQ(ask(ListJobs{}, 200, bob)["total"], 0);
  EXPECT_TRUE(ask(ListEvents{}, 200, bob)["events"].empty());
  EXPECT_EQ(state(1, chief), "starting");
  EXPECT_EQ(ask(CancelJob{"1"}, 200, chief)["state"], "stopping");
  EXPECT_EQ(ask(DrainNode{"here"}, 200, chief)["open"], false);
  ask(DrainNode{"hare"}, 404, chief);
}

TEST_F(ManagerTest, IdsGoByTheirBeginnings) {
  start();
  SubmitJob array = job();
  array.request.array = ArrayRange{0, 11, 1, 2};
  EXPECT_EQ(ask(array, 201)["ids"].size(), 12U);
  EXPECT_EQ(ask(ShowJob{"1_7"}, 200)["id"], 8);
  SubmitJob again = array;
  again.key = "same";
  const json ids = ask(again, 201)["ids"];
  EXPECT_EQ(ask(again, 200)["ids"], ids);
  EXPECT_EQ(ask(ShowJob{"12"}, 200)["id"], 12);
  ask(CancelJob{"1_"}, 404);
  EXPECT_EQ(ask(ShowJob{"1"}, 200)["id"], 1) << "a whole id, though others begin so";
  ask(ShowJob{"1_1"}, 200);
  ask(ShowJob{"99"}, 404);
  for (int i = 0; i < 9; ++i) ask(job(), 201);
  EXPECT_NE(ask(ShowJob{"1_"}, 409)["error"].get<std::string>().find("several"), std::string::npos);
}

TEST_F(ManagerTest, RefusesWithoutChangingAnything) {
  start();
  ask(job(3), 400);
  SubmitJob after = job();
  after.request.after_ok = {77};
  ask(after, 409);
  ask(CancelJob{"1"}, 404);
  EXPECT_EQ(ask(ListJobs{}, 200)["total"], 0);
  EXPECT_EQ(ask(job(), 201)["id"], 1);
  ask(ReleaseJob{"1"}, 409);
  ask(ListJobs{"runing", "", "", 10, 0}, 400);
}

TEST_F(ManagerTest, ErrorsHaveACode) {
  start();
  ask(job(), 201);
  EXPECT_EQ(ask(ShowJob{"7"}, 404), (json{{"error", "no such job: 7"}, {"code", "not_found"}}));
  EXPECT_EQ(ask(DrainNode{"here"}, 403)["code"], "forbidden");
  EXPECT_EQ(ask(ReleaseJob{"1"}, 409)["code"], "conflict");
  EXPECT_EQ(ask(job(3), 400)["code"], "invalid");
  EXPECT_EQ(ask(ListRuns{}, 404)["code"], "not_found");
  SubmitJob huge = job();
  huge.request.env["A"] = std::string(180'000, '\x01');
  EXPECT_EQ(ask(huge, 413)["code"], "too_large");
}

TEST_F(ManagerTest, DependenciesOnJobsThatAreOverAreSettledAtOnce) {
  start();
  ask(job(), 201);
  tell(LeaseUpInput{1, 1, "full"});
  tell(LeaseOverInput{1, 1, LeaseResult::kFailed, "traceback", "boom", 2000, 0, 0});
  SubmitJob any = job();
  any.request.after_any = {1};
  ask(any, 201);
  EXPECT_EQ(state(2), "starting");
  SubmitJob good = job();
  good.request.after_ok = {1};
  EXPECT_NE(ask(good, 409)["error"].get<std::string>().find("did not succeed"), std::string::npos);
}

TEST_F(ManagerTest, SaysWhereOutputIs) {
  start();
  ask(job(2), 201);
  ask(job(1), 201);
  ask(FindLog{"1", std::nullopt, 0}, 200);
  EXPECT_FALSE(last_log_->over);
  const std::unique_ptr<LogSource> log = last_log_->open();
  EXPECT_EQ(log->read(100), "") << "it has not begun to write";
  std::filesystem::create_directories(home_ + "/leases/j1.e1");
  std::ofstream(home_ + "/leases/j1.e1/out.log") << "said";
  EXPECT_EQ(log->read(100), "said");
  ask(FindLog{"1", std::nullopt, 7}, 404);
  ask(FindLog{"1", 2U, 0}, 404);
  ask(FindLog{"2", std::nullopt, 0}, 409);
}

TEST_F(ManagerTest, EverybodyWhoWatchesHearsEverythingOnce) {
  start();
  std::mutex mutex;
  std::vector<std::uint64_t> numbers;
  manager_->watch([&](const Notes& notes) {
    const std::lock_guard lock(mutex);
    for (const Note& note : *notes) numbers.push_back(note.number);
  });
  for (int i = 0; i < 10; ++i) ask(job(), 201);
  end();
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i + 1);
  EXPECT_GE(numbers.size(), 12U);
}

// Each byte of it is written as six in the request, and as seven in the journal.
TEST_F(ManagerTest, RefusesWhatTheJournalCouldNotHold) {
  start();
  SubmitJob huge = job();
  huge.request.command = {"sh", "-c", std::string(120'000, '\x01')};
  EXPECT_EQ(ask(huge, 201)["id"], 1);
  huge.request.env["A"] = std::string(60'000, '\x01');
  ask(huge, 413);
  EXPECT_EQ(ask(job(), 201)["id"], 2);
  SubmitJob large = job();
  large.request.env["A"] = std::string(100'000, '"');
  for (int i = 0; i < 5; ++i) ask(large, 201);
}

TEST_F(ManagerTest, RefusesALargeRequestTimesManyJobs) {
  start();
  SubmitJob many = job();
  many.request.array = ArrayRange{0, 999, 1, 0};
  many.request.env["A"] = std::string(100'000, 'x');
  ask(many, 413);
  many.request.env.clear();
  EXPECT_EQ(ask(many, 201)["ids"].size(), 1'000U);
  EXPECT_EQ(ask(ShowJob{"1_5"}, 200)["id"], 6);
}

TEST_F(ManagerTest, LimitsTheQueue) {
  ManagerSettings wanted;
  wanted.home = home_;
  wanted.scheduling = scheduling(kPlain);
  wanted.most_queued_per_user = 3;
  manager_ = Manager::open(std::move(wanted)).value();
  manager_->use(runner_);
  thread_ = std::thread([this] { EXPECT_FALSE(manager_->run()); });
  for (int i = 0; i < 3; ++i) ask(job(), 201);
  ask(job(), 429);
  ask(job(), 201, {"bob", false});
  tell(LeaseUpInput{1, 1, "full"});
  tell(LeaseOverInput{1, 1, LeaseResult::kFinished, "", "", 2000, 0, 0});
  ask(job(), 201);
}

}  // namespace
}  // namespace muster
