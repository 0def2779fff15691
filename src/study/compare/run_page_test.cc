#include "study/compare/run_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <string>

namespace muster {
namespace {

namespace fs = std::filesystem;

// Writes files as `muster sim --out` does: two jobs on two servers.
class RunPage : public testing::Test {
 protected:
  RunPage() {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    dir_ = fs::path(testing::TempDir()) / ("muster_run_page_" + name);
    fs::remove_all(dir_);
  }
  ~RunPage() override { fs::remove_all(dir_); }

  std::string write(const std::string& name, double mean, const std::string& more = "") {
    const fs::path run = dir_ / name;
    fs::create_directories(run);
    std::ofstream(run / "summary.json")
        << R"({"policy": "fifo", "mechanism": "tune", "placement": "count", "jobs": 2, )"
        << R"("trace": "t.csv", "cluster": "2x4", "digest": "00ff", )"
        << "\"jct_mean_s\": " << mean << ", \"command\": \"muster sim\"" << more
        << (more.find("finished") == std::string::npos ? ", \"finished\": 2" : "")
        << (more.find("seed") == std::string::npos ? ", \"seed\": 1" : "") << "}";
    std::ofstream(run / "jobs.csv")
        << "job_id,tenant,user,name,model,gpus,submit_s,start_s,end_s,jct_s,wait_s,run_s,"
           "preemptions,migrations,state,wait_fair_share_s,wait_fragmentation_s,wait_order_s,"
           "wait_backoff_s,over_part_on_arrival,overtaking,failures,last_failure,lost_gpu_s,gpu_s\n"
           "a,,,,,6,0,0,7200,7200,0,7200,0,0,finished,0,0,0,0,0,,0,,0,43200\n"
           "b,,,,,1,0,7200,10800,10800,7200,3600,0,0,finished,0,0,7200,0,0,,0,,0,3600\n";
    std::ofstream(run / "leases.csv")
        << "job_id,server,gpus,start_s,end_s,cpus,mem_gb,speed,ended,reason\n"
           "a,s10,0 1 2 3,0,7200,4,60,1,finished,\n"
           "a,s9,0 1,0,7200,4,60,1,finished,\n"
           "b,s9,3,7200,10800,4,60,1,finished,\n";
    std::ofstream(run / "timeline.csv") << "time_s,busy_gpus,cpus,mem_gb,running,waiting,speed\n"
                                           "0,0,0,0,0,2,0\n0,6,4,60,1,1,1\n"
                                           "7200,1,4,60,1,0,1\n10800,0,0,0,0,0,0\n";
    return run.string();
  }

  std::vector<RunFiles> read(const std::vector<std::string>& dirs) {
    std::vector<RunFiles> runs;
    const Result<std::vector<std::string>> found = find_runs(dirs);
    EXPECT_TRUE(found.ok()) << found.error().message;
    for (const std::string& dir : found.value()) {
      Result<RunFiles> run = read_run_files(dir);
      EXPECT_TRUE(run.ok()) << run.error().message;
      runs.push_back(std::move(run).value());
    }
    return runs;
  }

  fs::path dir_;
};

const Section& section(const Page& page, const std::string& key) {
  const auto at = std::find_if(page.sections.begin(), page.sections.end(),
                               [&](const Section& one) { return one.key == key; });
  EXPECT_NE(at, page.sections.end()) << key;
  return *at;
}

TEST_F(RunPage, MeasuresRunsAgainstTheBaseline) {
  write("runs/quick", 3600);
  write("runs/slow", 7200);
  const std::vector<RunFiles> runs = read({(dir_ / "runs").string()});
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].name, "quick");
  RunPageOptions options;
  options.baseline = 1;
  const Page page = run_page(runs, options);
  const PageTable& table = section(page, "summary").tables.at(0);
  ASSERT_EQ(table.columns.at(4), "gain");
  EXPECT_EQ(std::get<Number>(table.rows[0][4]).value, 2);
  EXPECT_EQ(std::get<Number>(table.rows[1][4]).value, 1);
  EXPECT_EQ(section(page, "summary").findings.at(0),
            "Jobs finished earliest under quick: 1.00 h on average, 2.00 times as fast as under "
            "slow.");
  EXPECT_EQ(page.commands, std::vector<std::string>{"muster sim"});
}

TEST_F(RunPage, TellsTimesOfEachSize) {
  const std::vector<RunFiles> runs = read({write("one", 9000)});
  const Page page = run_page(runs, {});
  const PageTable& sizes = section(page, "sizes").tables.at(0);
  EXPECT_EQ(std::get<Number>(sizes.rows[0][1]).value, 3);  // Hours, of b on 1 GPU.
  EXPECT_TRUE(std::holds_alternative<std::monostate>(sizes.rows[0][2]));
  EXPECT_EQ(std::get<Number>(sizes.rows[0][3]).value, 2);  // Only job a, on 6 GPUs.
  const Plot& wait = section(page, "distributions").plots.at(1);
  ASSERT_EQ(wait.series.size(), 1u);
  EXPECT_EQ(wait.series[0].x.back(), 2);  // b waited two hours.
  EXPECT_EQ(wait.series[0].y.back(), 100);
}

TEST_F(RunPage, TheLastAtAnInstantCounts) {
  const std::vector<RunFiles> runs = read({write("one", 9000)});
  const Page page = run_page(runs, {});
  const Plot& busy = section(page, "over-time").plots.at(0);
  EXPECT_EQ(busy.series.at(0).x, (std::vector<double>{0, 7200, 10800}));
  EXPECT_EQ(busy.series.at(0).y, (std::vector<double>{6, 1, 0}));
}

TEST_F(RunPage, ShowsWhoHeldWhichGpu) {
  const std::vector<RunFiles> runs = read({write("one", 9000)});
  const Page page = run_page(runs, {});
  const Gantt& gantt = section(page, "gpus").gantts.at(0);
  EXPECT_EQ(gantt.groups, (std::vector<std::string>{"s9", "s10"}));
  EXPECT_EQ(gantt.group_of_row, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(gantt.bars.size(), 7u);
  EXPECT_EQ(gantt.labels, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(gantt.bars.back().row, 3u);
  EXPECT_EQ(gantt.bars.back().begin, 7200);
  EXPECT_EQ(gantt.end, 10800);
  EXPECT_EQ(gantt.thinned, "");
}

TEST_F(RunPage, ShowsTheWindowAskedFor) {
  const std::vector<RunFiles> runs = read({write("one", 9000)});
  RunPageOptions options;
  options.window =
      Stretch{Instant::at(Duration::seconds(8000)), Instant::at(Duration::seconds(9000))};
  const Page page = run_page(runs, options);
  const Gantt& gantt = section(page, "gpus").gantts.at(0);
  EXPECT_EQ(gantt.bars.size(), 1u);
  EXPECT_EQ(gantt.begin, 8000);
  EXPECT_EQ(gantt.end, 9000);
  EXPECT_EQ(gantt.thinned,
            "1 of the 2 leases are outside of the window; use muster report --window");
}

TEST_F(RunPage, FailuresOnlyWhereThereCouldBeSome) {
  const std::string none = write("none", 1);
  const std::string some =
      write("some", 1, R"(, "failed": 1, "failures": {"attempts": 3, "lost_gpu_hours": 2.5})");
  const Page page = run_page(read({none, some}), {});
  const PageTable& table = section(page, "failures").tables.at(0);
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][2]), 3);
  EXPECT_EQ(std::get<Number>(table.rows[0][3]).value, 2.5);
  const Page without = run_page(read({none}), {});
  EXPECT_TRUE(std::none_of(without.sections.begin(), without.sections.end(),
                           [](const Section& one) { return one.key == "failures"; }));
}

// Nothing finished: no time at all, and not the best one.
TEST_F(RunPage, DoesNotPraiseRunsThatFinishedNothing) {
  const std::string good = write("good", 3600);
  const std::string none = write("none", 0, R"(, "finished": 0)");
  const std::string cut = write("cut", 60, R"(, "partial": true)");
  const Page page = run_page(read({none, cut, good}), {});
  const Section& summary = section(page, "summary");
  EXPECT_EQ(summary.findings.at(0),
            "Jobs took 1.00 h on average under good, less than in any "
            "other run.");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(summary.tables.at(0).rows[0][3]));
  EXPECT_EQ(summary.findings.back(),
            "cut was interrupted: it includes only jobs that had ended by then.");
}

TEST_F(RunPage, KeepsToTheWindowOfTheRun) {
  const Page page = run_page(read({write("w", 1, R"(, "window": [1, 2])")}), {});
  const PageTable& sizes = section(page, "sizes").tables.at(0);
  EXPECT_EQ(std::get<Number>(sizes.rows[0][1]).value, 3);  // Only job b.
  EXPECT_TRUE(std::holds_alternative<std::monostate>(sizes.rows[0][3]));
  EXPECT_EQ(section(page, "summary").findings.back(),
            "The times of w cover jobs 1 to 2 in order of arrival.");
}

// A seed may be larger than a double counts.
TEST_F(RunPage, ShowsCountsAsTheyAre) {
  const Page page =
      run_page(read({write("w", 1, R"(, "seed": 18446744073709551615, "events": 1e300)")}), {});
  const std::vector<Cell>& row = section(page, "sources").tables.at(0).rows.at(0);
  EXPECT_EQ(std::get<std::string>(row.at(5)), "18446744073709551615");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(row.at(6)));
}

TEST_F(RunPage, SaysWhatIsWrong) {
  const std::string run = write("one", 1);
  EXPECT_EQ(find_runs({(dir_ / "none").string()}).error().message,
            (dir_ / "none").string() + ": no such directory");
  fs::create_directories(dir_ / "empty");
  EXPECT_EQ(find_runs({(dir_ / "empty").string()}).error().message,
            (dir_ / "empty").string() +
                ": contains no summary.json; create a run with muster sim --out DIR");
  std::ofstream(fs::path(run) / "timeline.csv") << "time_s,busy_gpus,waiting\n5,1,1\n4,1,1\n";
  EXPECT_EQ(
      read_run_files(run).error().message,
      run + "/timeline.csv:3: time_s: must not be empty or earlier than in the previous row: '4'");
  std::ofstream(fs::path(run) / "timeline.csv") << "time_s,busy_gpus,waiting\n5,x,1\n";
  EXPECT_EQ(read_run_files(run).error().message,
            run + "/timeline.csv:2: busy_gpus: not a whole number: 'x'");
}

TEST_F(RunPage, LeavesGpusOutIfTold) {
  const std::vector<RunFiles> runs = read({write("a", 1), write("b", 2)});
  RunPageOptions options;
  options.gpus = false;
  options.baseline = 1;
  const std::vector<std::reference_wrapper<const RunFiles>> some = {runs[1], runs[0]};
  const Page page = run_page(RunRefs(some), options);
  for (const Section& one : page.sections) EXPECT_TRUE(one.gantts.empty()) << one.key;
  EXPECT_EQ(std::get<std::string>(section(page, "summary").tables[0].rows[0][0]), "b");
}

}  // namespace
}  // namespace muster
