// `muster trace convert`, and the files of others that `muster` takes: traces that need
// throughputs, clusters as lists of servers.

#include "cli/common/testing.h"

namespace muster {
namespace {

class ConvertCli : public ScratchTest {
 protected:
  const std::string helios_ = file("log.csv",
                                   "job_id,user,vc,gpu_num,state,submit_time,duration,model\n"
                                   "1,u1,vc1,8,COMPLETED,2020-06-09 18:41:01,600,res50\n"
                                   "2,u1,vc1,0,COMPLETED,2020-06-09 18:41:02,600,\n"
                                   "3,u2,vc1,2,FAILED,2020-06-09 18:41:03,60,vgg\n");
  const std::string gavel_ =
      file("gavel.trace", "LM (batch size 10)\tpython x\t-n\t1\t500\t7.0\t2\n");
};

TEST_F(ConvertCli, ConvertsToOurFormat) {
  const Output got = muster("trace convert --trace " + helios_);
  EXPECT_EQ(got.status, kExitDone);
  EXPECT_EQ(got.out,
            "job_id,submit_s,gpus,duration_s,user,tenant,model\n"
            "1,0,8,600,u1,vc1,res50\n"
            "3,2,2,60,u2,vc1,\n");
  EXPECT_EQ(got.err,
            "note: skipped: 1 row that requests no GPU\n"
            "note: 1 job did not complete (failed 1); its duration is the run time until then\n"
            "note: time 0 is 2020-06-09 18:41:01\n"
            "note: 1 job has a model without a profile: vgg\n"
            "note: models without a profile were removed from 1 jobs\n");
  EXPECT_EQ(muster("trace convert --format helios --to muster --trace " + helios_ + " --out " +
                   path("jobs.csv"))
                .status,
            kExitDone);
  EXPECT_EQ(muster("trace convert --trace " + path("jobs.csv")).out, got.out);
}

// A trace and its converted copy are the same workload.
TEST_F(ConvertCli, AConvertedTraceGivesTheSameRun) {
  muster("trace convert --trace " + helios_ + " --out " + path("jobs.csv"));
  const auto digest = [](const std::string& trace) {
    return Json::parse(muster("sim --json --cluster 2x8 --policy srtf --trace " + trace).out)
        .at("digest");
  };
  EXPECT_EQ(digest(helios_), digest(path("jobs.csv")));
}

TEST_F(ConvertCli, ConvertsToBatsimsJobs) {
  EXPECT_EQ(muster("trace convert --to batsim --trace " + helios_).out,
            "job_id,workload_name,profile,submission_time,requested_number_of_resources,"
            "requested_time,execution_time\n"
            "1,muster,res50,0,8,-1,600\n"
            "3,muster,vgg,2,2,-1,60\n");
}

TEST_F(ConvertCli, RefusesWhatItCannotConvert) {
  const auto refused = [](const std::string& words) {
    const Output got = muster(words);
    expect_refused(got, "");
    return got.err;
  };
  EXPECT_EQ(refused("trace convert --to swf --trace " + helios_),
            "muster: --to: unknown format 'swf'; one of: muster, batsim\n");
  EXPECT_EQ(refused("trace convert --format heliso --trace " + helios_),
            "muster: format: no such trace format: 'heliso'; did you mean 'helios'?\n");
  EXPECT_EQ(refused("trace convert --trace " + gavel_),
            "muster: " + gavel_ +
                ":1: job_type: the trace has no run time; use --throughputs FILE: "
                "'LM (batch size 10)'\n");
  EXPECT_EQ(refused("trace convert"),
            "muster: --trace is required; see 'muster trace convert --help'\n");
  const Output lost = muster("trace convert --trace " + helios_ + " --out " + path("no/such.csv"));
  EXPECT_EQ(lost.status, kExitFailed);
}

TEST_F(ConvertCli, TakesThroughputs) {
  const std::string table =
      file("table.csv", "model,batch_size,scale_factor,steps_per_s\nLM,10,2,5\n");
  const std::string words = "--throughputs " + table + " --trace " + gavel_;
  EXPECT_EQ(muster("trace convert " + words).out,
            "job_id,submit_s,gpus,duration_s,iterations\n0,7,2,100,500\n");
  EXPECT_EQ(muster("sim --json --cluster 1x4 " + words).status, kExitDone);
  EXPECT_EQ(muster("trace info --json --throughputs " + table + " " + gavel_).status, kExitDone);
  EXPECT_EQ(muster("trace info --throughputs " + path("none.csv") + " " + gavel_).err,
            "muster: " + path("none.csv") + ": no such file\n");
}

TEST_F(ConvertCli, InfoCountsWhatIsFilledIn) {
  const Json info = Json::parse(muster("trace info --json " + helios_).out);
  EXPECT_EQ(info.at("filled").at("user"), 2);
  EXPECT_EQ(info.at("filled").at("estimate_s"), 0);
}

TEST_F(ConvertCli, TakesAListOfServersAsTheCluster) {
  const std::string nodes = file("nodes.csv",
                                 "sn,cpu_milli,memory_mib,gpu,model\n"
                                 "n0,96000,393216,8,G2\nn1,104000,524288,2,T4\n");
  const Output got = muster("sim --json --trace " + helios_ + " --cluster " + nodes);
  EXPECT_EQ(got.status, kExitDone) << got.err;
  EXPECT_EQ(Json::parse(got.out).at("finished"), 2);
  EXPECT_TRUE(got.err.starts_with("note: " + nodes + ": no racks given")) << got.err;
  const Output bad = muster("sim --cluster " + path("node.csv"));
  EXPECT_EQ(bad.err, "muster: " + path("node.csv") + ": no such file; did you mean 'nodes.csv'?\n");
}

}  // namespace
}  // namespace muster
