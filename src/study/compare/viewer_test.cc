#include "study/compare/viewer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "study/compare/opened_views.h"
#include "study/compare/run_views.h"
#include "study/page/page_json.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Files as `muster sim --out` leaves them: two jobs on two servers.
class ViewerTest : public testing::Test {
 protected:
  ViewerTest() {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    dir_ = fs::path(testing::TempDir()) / ("muster_viewer_" + name);
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  ~ViewerTest() override { fs::remove_all(dir_); }

  void write(const fs::path& name, const std::string& text) const {
    fs::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name) << text;
  }

  std::string write_run(const std::string& name, int mean = 9000) const {
    write(name + "/summary.json",
          R"({"policy": "fifo", "mechanism": "tune", "placement": "count", "jobs": 2,
              "gpus": 8, "trace": "t.csv", "cluster": "2x4", "finished": 2, "seed": 1,
              "jct_mean_s": )" +
              std::to_string(mean) + "}");
    write(name + "/jobs.csv",
          "job_id,tenant,user,name,model,gpus,submit_s,start_s,end_s,jct_s,wait_s,run_s,"
          "preemptions,migrations,state,wait_fair_share_s,wait_fragmentation_s,wait_order_s,"
          "wait_backoff_s,over_part_on_arrival,overtaking,failures,last_failure,lost_gpu_s,gpu_s\n"
          "a,,ann,,gpt,6,0,0,7200,7200,0,7200,0,0,finished,0,0,0,0,0,,0,,0,43200\n"
          "b,vision,<b>,,,1,0,7200,10800,10800,7200,3600,0,0,finished,0,1,7200,0,0,,0,,0,3600\n");
    write(name + "/leases.csv",
          "job_id,server,gpus,start_s,end_s,cpus,mem_gb,speed,ended,reason\n"
          "a,s10,0 1 2 3,0,7200,4,60,1,finished,\n"
          "a,s9,0 1,0,7200,4,60,1,finished,\n"
          "b,s9,3,7200,9000,4,60,1,stopped,\n"
          "b,s9,2,9000,10800,4,60,1,finished,\n");
    write(name + "/timeline.csv",
          "time_s,busy_gpus,cpus,mem_gb,running,waiting,speed\n"
          "0,6,4,60,1,1,1\n7200,1,4,60,1,0,1\n10800,0,0,0,0,0,0\n");
    return (dir_ / name).string();
  }

  static Json page_value() {
    Page page;
    page.title = "A study";
    Section section;
    section.key = "s";
    section.title = "S";
    page.sections.push_back(section);
    return Json::parse(page_json(page));
  }

  MaybeError open(const std::vector<std::string>& paths) {
    const Result<std::vector<OpenedView>> found = find_views(paths);
    if (!found.ok()) return found.error();
    for (const OpenedView& one : found.value()) {
      if (MaybeError refusal = open_view(one, viewer_)) return refusal;
    }
    return std::nullopt;
  }

  Answer ask(Call call) {
    std::promise<Answer> promise;
    viewer_.call({"ann", true}, std::move(call),
                 [&](Answer answer) { promise.set_value(std::move(answer)); });
    return promise.get_future().get();
  }
  Json shown(Call call) {
    const Answer answer = ask(std::move(call));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return Json::parse(answer.body);
  }

  fs::path dir_;
  Viewer viewer_{"1.2"};
};

TEST_F(ViewerTest, ListsWhatWasOpened) {
  write_run("runs/b");
  write_run("runs/a");
  write("study.json", page_value().dump());
  ASSERT_FALSE(open({(dir_ / "runs").string(), (dir_ / "study.json").string()}));
  const Json items = shown(ListRuns{})["items"];
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0], Json::parse(R"({"key":0,"kind":"run","name":"a",
                                      "about":"2 jobs of t.csv on 2x4: fifo, tune, count"})"));
  EXPECT_EQ(items[1]["name"], "b");
  EXPECT_EQ(items[2]["kind"], "page");
  EXPECT_EQ(items[2]["about"], "A study");
  const Json me = shown(ShowMe{});
  EXPECT_EQ(me["mode"], "view");
  EXPECT_EQ(me["operator"], false);
  EXPECT_EQ(me["screens"], Json::parse(R"(["compare","timeline","tenants","pages"])"));
}

TEST_F(ViewerTest, NamesWhatIsAlikeByItsPath) {
  const std::string first = write_run("x/run"), second = write_run("y/run");
  ASSERT_FALSE(open({first, second}));
  const Json items = shown(ListRuns{})["items"];
  EXPECT_EQ(items[0]["name"], "run");
  EXPECT_EQ(items[1]["name"], second);
}

TEST_F(ViewerTest, ShowsWhoHeldWhichGpu) {
  ASSERT_FALSE(open({write_run("r")}));
  const Json all = shown(ShowTimeline{});
  EXPECT_EQ(all["servers"], Json::parse(R"([{"name":"s9","gpus":4},{"name":"s10","gpus":4}])"));
  EXPECT_EQ(all["gpus"], 8);
  EXPECT_EQ(all["to"], 10800);
  EXPECT_EQ(all["bars"]["row"], Json::parse("[0,1,2,3,4,5,6,7]"));
  EXPECT_EQ(all["bars"]["job"], Json::parse("[0,0,1,1,0,0,0,0]"));
  const std::vector<std::string> ends = all["ends"];
  EXPECT_EQ(ends.at(all["bars"]["end"][2].get<std::size_t>()), "finished");
  EXPECT_EQ(ends.at(all["bars"]["end"][3].get<std::size_t>()), "stopped");
  EXPECT_EQ(all["jobs"]["user"], Json::parse(R"(["ann","<b>"])"));
  EXPECT_EQ(all["jobs"]["name"][0], "gpt");
  const auto tenant = [&](std::size_t job) {
    return all["tenants"][all["jobs"]["tenant"][job].get<std::size_t>()];
  };
  EXPECT_EQ(tenant(0), "default");
  EXPECT_EQ(tenant(1), "vision");
  EXPECT_EQ(all["causes"][all["jobs"]["cause"][0].get<std::size_t>()], "did not wait");
  EXPECT_EQ(all["causes"][all["jobs"]["cause"][1].get<std::size_t>()], "order");
  EXPECT_EQ(all["load"]["busy"], Json::parse("[6,1,0]"));
  EXPECT_EQ(shown(ShowTimeline{0, 8000, 8500})["bars"]["row"], Json::parse("[3]"));
  EXPECT_EQ(ask(ShowTimeline{1, {}, {}}).status, 404);
  EXPECT_EQ(ask(ShowTimeline{{}, 20000, {}}).status, 400);
}

TEST_F(ViewerTest, CountsTheLoadWhereTheRunDoesNotTell) {
  RunFiles run = read_run_files(write_run("r")).value();
  run.busy.clear();
  run.waiting.clear();
  const LeaseTimeline timeline = timeline_of(run);
  ASSERT_EQ(timeline.load.size(), 4u);
  EXPECT_EQ(timeline.load[0].busy, 6);
  EXPECT_EQ(timeline.load[0].waiting, 1);
  EXPECT_EQ(timeline.load[1].busy, 1);
  EXPECT_EQ(timeline.load[2].busy, 1);
  EXPECT_EQ(timeline.load[3].busy, 0);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(timeline.load[i].waiting, 0) << i;
}

// As for a state directory: figures omit data that its rows lack.
TEST_F(ViewerTest, CountsOnlyWhatIsTold) {
  RunFiles run = read_run_files(write_run("r")).value();
  run.busy.clear();
  run.waiting.clear();
  History& history = run.history;
  history.waits.clear();
  // The first job's last attempt was never up, and the second's neither.
  const auto add = [&](PastJob& job, std::size_t told) {
    const std::vector<Attempt> own(
        history.attempts_of(job).begin(),
        history.attempts_of(job).begin() + static_cast<std::ptrdiff_t>(told));
    job.attempts = static_cast<std::uint32_t>(history.attempts.size());
    history.attempts.insert(history.attempts.end(), own.begin(), own.end());
    history.attempts.push_back(Attempt{});
    job.attempt_count = static_cast<std::uint32_t>(told) + 1;
  };
  add(history.jobs[0], 1);
  add(history.jobs[1], 2);
  PastJob rejected = history.jobs[0];
  rejected.status = Status::kUnknown;
  rejected.rejected = true;
  rejected.attempt_count = 0;
  PastJob cancelled = rejected;
  cancelled.status = Status::kKilled;
  cancelled.rejected = false;
  PastJob waiting = rejected;
  waiting.rejected = false;
  history.jobs.insert(history.jobs.end(), {rejected, cancelled, waiting});
  const LeaseTimeline timeline = timeline_of(run);
  ASSERT_EQ(timeline.load.size(), 4u);
  EXPECT_EQ(timeline.load[0].waiting, 2);  // The second, and the one that never ran.
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(timeline.load[i].waiting, 1) << i;
  EXPECT_EQ(timeline.load[3].busy, 0);
  const UsageFacts facts = usage_of(run, nullptr, timeline.whole, 4);
  EXPECT_EQ(facts.work.size(), history.jobs.size() - 1) << "the rejected one had no work";
}

TEST_F(ViewerTest, TellsWhoUsedWhat) {
  RunFiles run = read_run_files(write_run("r")).value();
  TenantList list;
  list.tenants = {{"default", "", 4}, {"vision", "", 4}};
  viewer_.add_run(std::move(run), TenantTree::build(list).value());
  const Json usage = shown(ShowUsage{{}, {}, {}, 3});
  EXPECT_EQ(usage["times"], Json::parse("[0,3600,7200]"));
  EXPECT_EQ(usage["tenants"][0]["name"], "default");
  EXPECT_EQ(usage["tenants"][0]["used"], Json::parse("[6,6,0]"));
  EXPECT_EQ(usage["tenants"][0]["borrowed"], Json::parse("[2,2,0]"));
  EXPECT_EQ(usage["tenants"][1]["lent"], Json::parse("[2,2,0]"));
  EXPECT_EQ(usage["fairness"], Json::parse("[0.5,0.5,1]"));
}

TEST_F(ViewerTest, KnowsTheQuotasOfARun) {
  const std::string run = write_run("r");
  write("r/summary.json",
        R"({"policy": "fifo", "mechanism": "tune", "placement": "count", "jobs": 2, "quotas":
            [{"tenant": "vision", "parent": "all", "gpus": 6}, {"tenant": "all", "gpus": 8}]})");
  ASSERT_FALSE(open({run}));
  const Json tenants = shown(ShowUsage{})["tenants"];
  ASSERT_EQ(tenants.size(), 3u);
  EXPECT_EQ(tenants[0]["quota"], 6);
  EXPECT_EQ(tenants[0]["parent"], "all");
  EXPECT_EQ(tenants[1]["quota"], 8);
  EXPECT_EQ(tenants[2]["name"], "default");
  write("r/summary.json", R"({"policy": "fifo", "mechanism": "tune", "placement": "count",
                              "jobs": 2, "quotas": [{"tenant": 5}]})");
  EXPECT_FALSE(open({run})) << "unused data is not an error";
}

TEST_F(ViewerTest, ComparesRuns) {
  ASSERT_FALSE(open({write_run("slow", 8000), write_run("quick", 4000)}));
  const Json page = shown(CompareRuns{{1, 0}, 0});
  const Json& rows = page["sections"][0]["tables"][0]["rows"];
  EXPECT_EQ(rows[0][0], "quick");
  EXPECT_EQ(rows[0][4], 2.0);
  for (const Json& section : page["sections"]) EXPECT_NE(section["key"], "gpus");
  EXPECT_EQ(ask(CompareRuns{{0, 2}, 0}).status, 404);
}

TEST_F(ViewerTest, ShowsPages) {
  write("study/page.json", page_value().dump());
  ASSERT_FALSE(open({(dir_ / "study").string()}));
  EXPECT_EQ(shown(ShowPage{0})["title"], "A study");
  EXPECT_EQ(shown(ShowMe{})["screens"], Json::parse(R"(["pages"])"));
  EXPECT_EQ(ask(ShowPage{1}).status, 404);
  EXPECT_EQ(ask(ShowTimeline{}).status, 404);
}

TEST_F(ViewerTest, HasNothingOfALiveManager) {
  for (Call call : {Call(ListJobs{}), Call(ListNodes{}), Call(ShowWhatIf{}), Call(ListEvents{})}) {
    const Answer answer = ask(call);
    EXPECT_EQ(answer.status, 404);
    EXPECT_NE(answer.body.find("muster view shows files"), std::string::npos);
  }
}

TEST_F(ViewerTest, TakesSoManyQuestionsAtOnceAndNoMore) {
  std::promise<void> release;
  std::promise<void> begun;
  viewer_.call({"ann", true}, ShowMe{}, [&](const Answer&) {
    begun.set_value();
    release.get_future().wait();
  });
  begun.get_future().wait();
  std::vector<std::future<int>> answers;
  for (int i = 0; i < 33; ++i) {
    auto promise = std::make_shared<std::promise<int>>();
    answers.push_back(promise->get_future());
    viewer_.call({"ann", true}, ShowMe{},
                 [promise](const Answer& answer) { promise->set_value(answer.status); });
  }
  EXPECT_EQ(answers.back().get(), 429);
  release.set_value();
  for (int i = 0; i < 32; ++i) EXPECT_EQ(answers[static_cast<std::size_t>(i)].get(), 200);
}

TEST_F(ViewerTest, SaysWhichFileIsWrong) {
  const auto refusal = [&](const std::string& path) {
    const MaybeError why = open({(dir_ / path).string()});
    return why ? why->message : "";
  };
  EXPECT_NE(refusal("none").find("none: no such file"), std::string::npos);
  write("bad.json", "{}");
  EXPECT_NE(refusal("bad.json").find("bad.json: not a page"), std::string::npos);
  write_run("r");
  write("r/leases.csv", "x\n");
  EXPECT_NE(refusal("r").find("leases.csv"), std::string::npos);
}

}  // namespace
}  // namespace muster
