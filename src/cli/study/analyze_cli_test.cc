// `muster analyze` and `muster report`: from files to pages.

#include <set>

#include "cli/common/testing.h"

namespace muster {
namespace {

class AnalyzeCli : public ScratchTest {
 protected:
  std::string generated(int jobs) {
    const std::string trace = path("jobs.csv");
    muster("trace generate --kind philly-like --jobs " + std::to_string(jobs) + " --out " + trace +
           " --outcomes " + path("past.csv"));
    return trace;
  }

  static Json section(const Json& page, const std::string& key) {
    for (const Json& one : page.at("sections")) {
      if (one.at("key") == key) return one;
    }
    ADD_FAILURE() << "no section " << key;
    return {};
  }
};

TEST_F(AnalyzeCli, AnswersWhatATraceTells) {
  const Output got = muster("analyze --json " + generated(400));
  ASSERT_EQ(got.status, kExitDone) << got.err;
  const Json page = Json::parse(got.out);
  EXPECT_EQ(page.at("sections").size(), 13u);
  EXPECT_TRUE(section(page, "run-times").at("missing").is_null());
  EXPECT_TRUE(section(page, "failures").at("missing").is_string());
  const Output text = muster("analyze " + path("jobs.csv"));
  EXPECT_EQ(text.status, kExitDone);
  EXPECT_TRUE(has(text.out, "400 jobs")) << text.out.substr(0, 500);
}

TEST_F(AnalyzeCli, AddsWhatBecameOfTheJobs) {
  const std::string trace = generated(2000);
  const Output got = muster("analyze --json --outcomes " + path("past.csv") + " " + trace);
  ASSERT_EQ(got.status, kExitDone) << got.err;
  const Json page = Json::parse(got.out);
  EXPECT_FALSE(section(page, "failures").at("tables").empty());
}

TEST_F(AnalyzeCli, WritesAPageAndTheCsvBehindIt) {
  const Output got = muster("analyze " + generated(400) + " --out " + path("study"));
  ASSERT_EQ(got.status, kExitDone) << got.err;
  EXPECT_EQ(got.out, "");
  EXPECT_TRUE(has(got.err, "note: written to " + path("study") + "/index.html"));
  const std::string html = slurp(dir_ / "study" / "index.html");
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>") || html.starts_with("<!doctype html>"));
  EXPECT_TRUE(has(html, "muster analyze"));
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(dir_ / "study")) {
    files += entry.path().extension() == ".csv" ? 1 : 0;
  }
  EXPECT_GT(files, 5u);
}

TEST_F(AnalyzeCli, TakesASimulatedRun) {
  const std::string trace = generated(400);
  ASSERT_EQ(muster("sim --cluster 8x8 --policy srtf --failures on --trace " + trace + " --out " +
                   path("run"))
                .status,
            kExitDone);
  const Output got = muster("analyze --json " + path("run"));
  ASSERT_EQ(got.status, kExitDone) << got.err;
  const Json page = Json::parse(got.out);
  for (const char* const key : {"queueing", "out-of-order", "outcomes", "failures"}) {
    EXPECT_FALSE(section(page, key).at("tables").empty()) << key;
  }
}

TEST_F(AnalyzeCli, TakesPhillysLog) {
  const std::string log =
      file("cluster_job_log",
           R"([{"status": "Pass", "vc": "v1", "jobid": "j1", "user": "u1",)"
           R"("submitted_time": "2017-10-09 07:00:00", "attempts": [{)"
           R"("start_time": "2017-10-09 07:01:00", "end_time": "2017-10-09 08:01:00",)"
           R"("detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]}]}])");
  file("cluster_machine_list", "machineId, number of GPUs, single GPU mem\nm1,2,12GB\n");
  file("cluster_gpu_util",
       "time,machineId,gpu0_util,gpu1_util\n2017-10-09 07:02:00 PDT,m1,50,100\n");
  for (const std::string& input : {log, dir_.string()}) {
    const Output got = muster("analyze --json " + input);
    ASSERT_EQ(got.status, kExitDone) << got.err;
    const Json page = Json::parse(got.out);
    const bool used = section(page, "utilisation").at("tables").size() > 0;
    EXPECT_EQ(used, input == dir_.string());
    const std::set<std::string> notes = page.at("notes").get<std::set<std::string>>();
    EXPECT_EQ(notes.size(), page.at("notes").size());  // Each once.
  }
  // And as a workload.
  const Output info = muster("trace info --json " + log);
  ASSERT_EQ(info.status, kExitDone) << info.err;
  EXPECT_EQ(Json::parse(info.out).at("jobs"), 1);
  EXPECT_EQ(Json::parse(info.out).at("duration_mean_s"), 3600);
}

TEST_F(AnalyzeCli, RefusesBadInput) {
  const std::string trace = generated(10);
  expect_refused(muster("analyze " + path("none.csv")), "none.csv: no such file");
  expect_refused(muster("analyze --gpu-use " + trace + " " + trace),
                 "--gpu-use: requires Philly's cluster_job_log as input");
  expect_refused(muster("analyze --machines " + trace + " " + trace),
                 "--machines: requires Philly's");
  expect_refused(muster_words({"analyze", "--gpu-use", "", trace}), "--gpu-use: must not be empty");
  expect_refused(muster_words({"analyze", "--out", "", trace}), "--out: must not be empty");
  const std::string cut = file("log.json", R"([{"status": "Pass", "vc":)");
  const Output got = muster("analyze " + cut);
  expect_refused(got, "byte ");
  fs::create_directories(dir_ / "empty");
  expect_refused(muster("analyze " + path("empty")),
                 "contains no run of muster sim --out, no Philly");
}

TEST_F(AnalyzeCli, ReportsRunsSideBySide) {
  const std::string trace = generated(300);
  ASSERT_EQ(
      muster("sim --cluster 4x8 --policy fifo,srtf --trace " + trace + " --out " + path("runs"))
          .status,
      kExitDone);
  const std::string page = path("new/page.html");
  const Output got = muster("report " + path("runs") + " --out " + page +
                            " --baseline fifo+proportional+consolidate --window 0s-10h");
  ASSERT_EQ(got.status, kExitDone) << got.err;
  EXPECT_EQ(got.err, "note: written to " + page + "\n");
  const std::string html = slurp(page);
  EXPECT_TRUE(has(html, "2 simulated runs"));
  EXPECT_TRUE(has(html, "muster sim --cluster 4x8 --policy fifo,srtf"));
  // The same page again, to the byte.
  ASSERT_EQ(muster("report " + path("runs") + " --out " + path("again.html") +
                   " --baseline fifo+proportional+consolidate --window 0s-10h")
                .status,
            kExitDone);
  EXPECT_EQ(slurp(dir_ / "again.html"), html);
}

TEST_F(AnalyzeCli, ReportsASweep) {
  const std::string grid =
      file("grid.yaml", "sim:\n  cluster: 4x8\n  policy: [fifo, srtf]\n  trace: " + generated(200) +
                            "\n  seed: 1-2\n");
  ASSERT_EQ(muster("sweep " + grid + " --out " + path("sweep")).status, kExitDone);
  const Output got = muster("report " + path("sweep") + " --out " + path("sweep.html"));
  ASSERT_EQ(got.status, kExitDone) << got.err;
  EXPECT_TRUE(has(slurp(dir_ / "sweep.html"), "4 cells in 2 groups"));
  expect_refused(muster("report " + path("sweep") + " --baseline fif --out " + path("x.html")),
                 "--baseline: unknown run 'fif'; did you mean 'fifo'?");
}

TEST_F(AnalyzeCli, RefusesToReportOnNothing) {
  expect_refused(muster("report " + path("none")), path("none") + ": no such directory");
  expect_refused(muster("report " + dir_.string()), "contains no summary.json");
  expect_refused(muster("report --window 5h-1h " + dir_.string()), "FROM must be before TO");
  expect_refused(muster("report --window 5 " + dir_.string()), "write FROM-TO");
}

}  // namespace
}  // namespace muster
