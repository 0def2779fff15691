#include "sim/results/result_files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sim/results/summary_json.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::set<std::string> names_in(const fs::path& dir) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir)) names.insert(entry.path().filename());
  return names;
}

// A small run: two servers in two racks, four jobs of every fate.
class WriteRun : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "muster_files_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;

    ASSERT_FALSE(topology_.add_node("s0", "r0", "v100", {2, 6'000, 128'000, 0}));
    ASSERT_FALSE(topology_.add_node("s1", "r1", "v100", {4, 12'000, 256'000, 0}));
    add_job("a", 3, "res\"net", JobResult::kFinished);
    add_job("b,1", 1, " bert", JobResult::kFinished);
    add_job("c\nd", 1, "", JobResult::kUnfinished);
    add_job("=huge", 99, "", JobResult::kRejected);
    JobOutcome& a = result_.jobs[0];
    a.start = Instant::micros(1'500'000);
    a.end = Instant::micros(11'500'000);
    a.run = Duration::seconds(8);
    a.preemptions = 1;
    a.migrations = 2;
    JobOutcome& b = result_.jobs[1];
    b.start = Instant::micros(1'000'000);
    b.end = Instant::micros(1'000'001);
    b.run = Duration::micros(1);
    result_.jobs[2].start = Instant::micros(2'000'000);
    result_.jobs[2].run = Duration::seconds(1);
    result_.spans = {{JobId(0), NodeId(1), 0b1011, 9'000, 6'400, 1.25, Instant::micros(1'500'000),
                      Instant::micros(9'500'000), SpanEnd::kMoved, std::nullopt},
                     {JobId(1), NodeId(0), 0b10, 2'500, 100, 1.0 / 3, Instant::micros(1'000'000),
                      Instant::micros(1'000'001), SpanEnd::kFailed, Reason::kCudaFailure}};
    result_.timeline = {{Instant::micros(1'000'000), 1, 2'500, 100, 1, 2, 1.0 / 3},
                        {Instant::micros(1'500'000), 4, 11'500, 6'500, 2, 0, 1.5}};
    label_.policy = "srtf";
    result_.jobs[0].gpu_us = 24'000'000;
    result_.jobs[0].waiting[WaitCause::kFairShare] = Duration::micros(500'000);
    result_.jobs[0].waiting[WaitCause::kOrder] = Duration::seconds(2);
    result_.jobs[0].waiting.over_part_on_arrival = true;
    result_.jobs[1].failures = 2;
    result_.jobs[1].last_failure = Reason::kCudaFailure;
    result_.jobs[1].lost_gpu_us = 1'500'000;
    summary_ = summarize(result_, topology_);
    summary_.waiting.overtaking.jobs[0] = Overtaking::kHarmless;
  }
  void TearDown() override { fs::remove_all(dir_); }

  void add_job(std::string id, std::int32_t gpus, std::string_view model, JobResult fate) {
    TraceJob job;
    job.id = std::move(id);
    job.gpus = gpus;
    job.submit = Instant::micros(1'000'000);
    job.model = trace_.models.intern(model);
    job.user = trace_.users.intern("u1");
    job.tenant = trace_.tenants.intern("vc1");
    JobOutcome outcome;
    outcome.fate = fate;
    outcome.submit = job.submit;
    outcome.gpus = gpus;
    trace_.jobs.push_back(std::move(job));
    result_.jobs.push_back(outcome);
  }

  MaybeError write(const fs::path& dir) {
    return write_run(dir.string(), result_, summary_, label_, trace_, topology_);
  }

  // The run is written, and this file of it read.
  std::string written(const std::string& name) {
    EXPECT_FALSE(write(dir_));
    return content(dir_ / name);
  }

  fs::path dir_;
  Topology topology_;
  Trace trace_;
  SimResult result_;
  Summary summary_;
  RunLabel label_;
};

TEST_F(WriteRun, LeavesFiveFilesInANewDirectory) {
  const fs::path deep = dir_ / "x" / "y" / "";  // With a slash at its end.
  ASSERT_FALSE(write(deep));
  EXPECT_EQ(names_in(deep), (std::set<std::string>{"jobs.csv", "leases.csv", "summary.json",
                                                   "timeline.csv", "trace.perfetto.json"}));
  EXPECT_EQ(content(deep / "summary.json"), summary_json(summary_, label_));
}

TEST_F(WriteRun, JobsHaveOneRowEach) {
  EXPECT_EQ(
      written("jobs.csv"),
      "job_id,tenant,user,name,model,gpus,submit_s,start_s,end_s,jct_s,wait_s,run_s,"
      "preemptions,migrations,state,wait_fair_share_s,wait_fragmentation_s,wait_order_s,"
      "wait_backoff_s,over_part_on_arrival,overtaking,failures,last_failure,lost_gpu_s,gpu_s\n"
      "a,vc1,u1,,\"res\"\"net\",3,1,1.5,11.5,10.5,2.5,8,1,2,finished,0.5,0,2,0,1,harmless,0,,0,24\n"
      "\"b,1\",vc1,u1,,\" "
      "bert\",1,1,1,1.000001,0.000001,0,0.000001,0,0,finished,0,0,0,0,0,,2,cuda-failure,1.5,0\n"
      "\"c\nd\",vc1,u1,,,1,1,2,,,,1,0,0,unfinished,,,,,0,,0,,0,0\n"
      "=huge,vc1,u1,,,99,1,,,,,0,0,0,rejected,,,,,0,,0,,0,0\n");
}

TEST_F(WriteRun, LeasesHaveOneRowAServer) {
  EXPECT_EQ(written("leases.csv"),
            "job_id,server,gpus,start_s,end_s,cpus,mem_gb,speed,ended,reason\n"
            "a,s1,0 1 3,1.5,9.5,9,6.25,1.25,moved,\n"
            "\"b,1\",s0,1,1,1.000001,2.5,0.097656,0.333333,failed,cuda-failure\n");
}

TEST_F(WriteRun, TimelineHasOneRowAPoint) {
  EXPECT_EQ(written("timeline.csv"),
            "time_s,busy_gpus,cpus,mem_gb,running,waiting,speed\n"
            "1,1,2.5,0.097656,1,2,0.333333\n"
            "1.5,4,11.5,6.347656,2,0,1.5\n");
}

TEST_F(WriteRun, TracksParseAndNameEveryGpu) {
  trace_.jobs[0].id = "a\"\xff\n";
  ASSERT_FALSE(write(dir_));
  const auto json = nlohmann::json::parse(content(dir_ / "trace.perfetto.json"));
  std::map<int, std::string> threads;
  std::map<int, std::string> processes;
  std::vector<nlohmann::json> spans;
  for (const auto& event : json["traceEvents"]) {
    if (event["name"] == "thread_name") threads[event["tid"]] = event["args"]["name"];
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["ph"] == "X") spans.push_back(event);
  }
  EXPECT_EQ(threads, (std::map<int, std::string>{{3, "s0 gpu 0"},
                                                 {4, "s0 gpu 1"},
                                                 {5, "s1 gpu 0"},
                                                 {6, "s1 gpu 1"},
                                                 {7, "s1 gpu 2"},
                                                 {8, "s1 gpu 3"}}));
  EXPECT_EQ(processes, (std::map<int, std::string>{{1, "s0 (r0)"}, {2, "s1 (r1)"}}));
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[0]["name"], "b,1");  // Began first.
  EXPECT_EQ(spans[0]["tid"], 4);
  EXPECT_EQ(spans[1]["tid"], 5);
  EXPECT_EQ(spans[2]["tid"], 6);
  EXPECT_EQ(spans[3]["tid"], 8);
  EXPECT_EQ(spans[3]["pid"], 2);
  EXPECT_EQ(spans[3]["ts"], 1'500'000);
  EXPECT_EQ(spans[3]["dur"], 8'000'000);
  EXPECT_EQ(spans[3]["name"], "a\"\xef\xbf\xbd\n");
  EXPECT_EQ(spans[3]["args"],
            (nlohmann::json{{"gpus", 3}, {"cpus", 9}, {"mem_gb", 6.25}, {"speed", 1.25}}));
}

// Perfetto drops events that overlap on one track.
TEST_F(WriteRun, JobsThatShareAGpuGetTracksOfTheirOwn) {
  const auto span = [](std::uint32_t job, std::int64_t begin, std::int64_t end) {
    return LeaseSpan{
        JobId(job),           NodeId(0),          0b10,        1000, 100, 1, Instant::micros(begin),
        Instant::micros(end), SpanEnd::kFinished, std::nullopt};
  };
  result_.spans = {span(0, 10, 20), span(1, 0, 30), span(2, 20, 40), span(0, 30, 50)};
  ASSERT_FALSE(write(dir_));
  const auto json = nlohmann::json::parse(content(dir_ / "trace.perfetto.json"));
  std::map<int, std::string> threads;
  std::map<int, std::int64_t> free_from;
  int spans = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["name"] == "thread_name") threads[event["tid"]] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    ++spans;
    EXPECT_GE(event["ts"], free_from[event["tid"]]);
    free_from[event["tid"]] = event["ts"].get<std::int64_t>() + event["dur"].get<std::int64_t>();
    EXPECT_TRUE(threads.contains(event["tid"]));
  }
  EXPECT_EQ(spans, 4);
  EXPECT_EQ(free_from.size(), 2u);
  EXPECT_EQ(threads.at(9), "s0 gpu 1 (2)");
}

TEST_F(WriteRun, WithoutHistoryTheTracksAreEmptyButThere) {
  result_.spans.clear();
  result_.timeline.clear();
  EXPECT_EQ(written("timeline.csv"), "time_s,busy_gpus,cpus,mem_gb,running,waiting,speed\n");
  const auto json = nlohmann::json::parse(content(dir_ / "trace.perfetto.json"));
  EXPECT_EQ(json["traceEvents"].size(), 2 * 8u);
  topology_ = Topology();
  ASSERT_FALSE(write(dir_));
  EXPECT_EQ(content(dir_ / "trace.perfetto.json"),
            "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n]}\n");
}

TEST_F(WriteRun, TheSameRunGivesTheSameBytes) {
  ASSERT_FALSE(write(dir_ / "1"));
  ASSERT_FALSE(write(dir_ / "2"));
  for (const std::string& name : names_in(dir_ / "1")) {
    EXPECT_EQ(content(dir_ / "1" / name), content(dir_ / "2" / name)) << name;
  }
}

TEST_F(WriteRun, ReplacesAnEarlierRun) {
  ASSERT_FALSE(write(dir_));
  label_.policy = "las";
  ASSERT_FALSE(write(dir_));
  EXPECT_EQ(content(dir_ / "summary.json"), summary_json(summary_, label_));
  EXPECT_EQ(names_in(dir_).size(), 5u);
}

TEST_F(WriteRun, RefusesAFileInPlaceOfTheDirectory) {
  const fs::path file = dir_ / "file";
  std::ofstream(file) << "mine";
  const MaybeError refusal = write(file);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->message, file.string() + ": not a directory");
  EXPECT_EQ(content(file), "mine");

  const MaybeError below = write(file / "below");
  ASSERT_TRUE(below);
  EXPECT_EQ(below->message,
            (file / "below").string() + ": cannot create the directory: Not a directory");
  EXPECT_TRUE(write(""));
}

TEST_F(WriteRun, NamesTheFileThatCannotBeReplaced) {
  fs::create_directories(dir_ / "jobs.csv" / "mine");
  const MaybeError refusal = write(dir_);
  ASSERT_TRUE(refusal);
  EXPECT_TRUE(refusal->message.starts_with((dir_ / "jobs.csv").string() + ": cannot replace: "))
      << refusal->message;
  EXPECT_EQ(names_in(dir_), std::set<std::string>{"jobs.csv"});
}

TEST_F(WriteRun, NamesTheFileThatCannotBeCreated) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  fs::permissions(dir_, fs::perms::owner_read | fs::perms::owner_exec);
  const MaybeError refusal = write(dir_);
  fs::permissions(dir_, fs::perms::owner_all);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->message, (dir_ / "jobs.csv").string() + ": cannot create: Permission denied");
}

TEST_F(WriteRun, AFullDiskLeavesTheEarlierRunAsItWas) {
  ASSERT_FALSE(write(dir_));
  const std::string before = content(dir_ / "jobs.csv");
  trace_.jobs[0].id = "changed";
  for (int i = 0; i < 10'000; ++i) result_.timeline.push_back(result_.timeline.back());

  // A limit on the size of files stands in for a full disk.
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small = {50'000, limit.rlim_max};
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const MaybeError refusal = write(dir_);
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, old_handler);

  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->message, (dir_ / "timeline.csv").string() + ": cannot write: File too large");
  EXPECT_EQ(content(dir_ / "jobs.csv"), before);
  EXPECT_EQ(names_in(dir_).size(), 5u);
}

}  // namespace
}  // namespace muster
