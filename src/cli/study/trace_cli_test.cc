// `muster trace` beyond the basics: two traces compared, workloads like Philly's.

#include "cli/common/testing.h"
#include "workload/trace/reader.h"

namespace muster {
namespace {

class TraceCli : public ScratchTest {};

TEST_F(TraceCli, ComparesTwoTraces) {
  const std::string a = file("a.csv", "submit_s,gpus,duration_s\n0,1,10\n5,1,20\n10,2,30\n");
  const std::string b = file("b.csv", "submit_s,gpus,duration_s\n0,1,10\n5,1,20\n10,1,3000\n");
  const std::string line = "trace info " + a + " --against " + b;
  const Output page = muster(line);
  EXPECT_EQ(page.status, kExitDone) << page.err;
  EXPECT_TRUE(has(page.out, "against " + b));
  EXPECT_TRUE(has(page.out, "0.3333")) << page.out;
  const Json numbers = Json::parse(muster(line + " --json").out);
  EXPECT_EQ(numbers["against"], b);
  EXPECT_NEAR(numbers["ks_durations"].get<double>(), 1.0 / 3, 1e-6);
  EXPECT_NEAR(numbers["ks_gpus"].get<double>(), 1.0 / 3, 1e-6);
  EXPECT_EQ(numbers["ks_gaps"], 0);
  expect_refused(muster("trace info " + a + " --against " + path("none.csv")),
                 "none.csv: no such file");
}

TEST_F(TraceCli, ListsEveryFormat) {
  const Output list = muster("trace formats");
  EXPECT_EQ(list.status, kExitDone) << list.err;
  for (const TraceFormat& format : trace_formats()) {
    EXPECT_TRUE(has(list.out, std::string(format.name))) << format.name;
    EXPECT_TRUE(has(list.out, std::string(format.doc))) << format.doc;
  }
}

TEST_F(TraceCli, MakesAWorkloadLikePhillys) {
  const std::string generate = "trace generate --kind philly-like --jobs 300 --seed 3";
  const Output printed = muster(generate);
  EXPECT_EQ(printed.status, kExitDone) << printed.err;
  EXPECT_TRUE(printed.out.starts_with("job_id,submit_s,gpus,duration_s,user,tenant,name\n"));
  EXPECT_NE(muster(generate + " --rate 385").out, printed.out);
  EXPECT_EQ(muster(generate + " --rate 38.5").out, printed.out);
  EXPECT_NE(muster(generate + " --load 64").out, printed.out);
  EXPECT_EQ(muster(generate + " --tenants 2 --out " + path("two.csv")).status, kExitDone);
  const Json two = Json::parse(muster("trace info --json " + path("two.csv")).out);
  EXPECT_EQ(two["jobs"], 300);
  EXPECT_EQ(two["tenants"], 2);
  const Json run = Json::parse(muster("sim --json --cluster 80x8 --trace " + path("two.csv")).out);
  EXPECT_TRUE(run.is_object());
}

TEST_F(TraceCli, WritesWhatBecameOfTheJobs) {
  const std::string generate = "trace generate --kind philly-like --jobs 300";
  const Output got = muster(generate + " --outcomes " + path("past.csv"));
  EXPECT_EQ(got.status, kExitDone) << got.err;
  EXPECT_EQ(got.out, muster(generate).out);
  std::ifstream file(dir_ / "past.csv");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_EQ(line, "job_id,status,attempts,run_s,reasons");
  int lines = 0;
  while (std::getline(file, line)) ++lines;
  EXPECT_EQ(lines, 300);
  const Output refused = muster(generate + " --outcomes " + path("no/past.csv"));
  EXPECT_EQ(refused.status, kExitFailed);
  EXPECT_TRUE(has(refused.err, "past.csv: cannot be written")) << refused.err;
  EXPECT_EQ(refused.out, "");
}

TEST_F(TraceCli, RefusesWhatAKindDoesNotKnow) {
  const std::string generate = "trace generate --kind ";
  expect_refused(muster(generate + "philly-lik"),
                 "--kind: unknown kind 'philly-lik'; did you mean");
  expect_refused(muster(generate + "philly-like --static"), "--static: requires --kind synergy");
  expect_refused(muster(generate + "philly-like --split 1,2,97"),
                 "--split: requires --kind synergy");
  expect_refused(muster("trace generate --load 9"), "--load: requires --kind philly-like");
  expect_refused(muster("trace generate --tenants 9"), "--tenants: requires --kind philly-like");
  expect_refusals(generate + "philly-like ",
                  {
                      {"--load 9 --rate 9", "--load: cannot be combined with --rate"},
                      {"--load 0", "--load: must be above 0 and at most 1000000 GPUs: '0'"},
                      {"--load 1e99", "--load: must be above 0 and at most"},
                      {"--tenants 0", "--tenants: must be 1 to 1000: '0'"},
                      {"--jobs 0", "--jobs: must be 1 to"},
                  });
}

}  // namespace
}  // namespace muster
