#include "workload/trace/writer.h"

#include <gtest/gtest.h>

#include "tests/data.h"
#include "workload/generate/generator.h"
#include "workload/trace/reader.h"
#include "workload/trace/testing.h"

namespace muster {
namespace {

TEST(WriteTrace, LeavesOutColumnsNobodyUses) {
  Trace trace;
  TraceJob job;
  job.id = "7";
  job.submit = Instant::micros(1'500'000);
  job.gpus = 2;
  trace.jobs.push_back(job);
  EXPECT_EQ(write_trace_csv(trace), "job_id,submit_s,gpus,duration_s\n7,1.5,2,0\n");
}

TEST(WriteTrace, WritesTheRangeOfElasticJobs) {
  Trace trace;
  TraceJob job;
  job.id = "7";
  job.gpus = 2;
  trace.jobs.push_back(job);
  job.id = "8";
  job.fewest = 1;
  job.most = 4;
  trace.jobs.push_back(job);
  EXPECT_EQ(write_trace_csv(trace),
            "job_id,submit_s,gpus,duration_s,min_gpus,max_gpus\n7,0,2,0,0,0\n8,0,2,0,1,4\n");
  expect_reads_back(trace);
}

TEST(WriteTrace, ReadsBackAwkwardTexts) {
  Trace trace;
  const std::string texts[] = {"plain", "a,b", "say \"hi\"", " blanks ", "#5", "\xc3\xa9t\xc3\xa9",
                               "\"",    ",",   "tab\there"};
  for (const std::string& text : texts) {
    TraceJob job;
    job.id = text;
    job.submit = Instant::micros(static_cast<std::int64_t>(trace.jobs.size()) * 1'234'567);
    job.duration = Duration::micros(kLongestDuration.us() - 1);
    job.user_estimate = Duration::micros(1);
    job.iterations = 5;
    job.user = trace.users.intern(text);
    job.tenant = trace.tenants.intern(text);
    job.name = trace.names.intern(text);
    job.model = trace.models.intern(trace.jobs.size() % 2 == 0 ? "res50" : "");
    job.gpu_type = trace.gpu_types.intern(text);
    trace.jobs.push_back(job);
  }
  expect_reads_back(trace);
}

TEST(WriteTrace, ReadsBackGeneratedTraces) {
  GeneratorOptions options;
  options.gpu_mix = parse_gpu_mix("multi").value();
  const Result<Trace> trace = generate_trace(options, synergy_like_profiles());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  expect_reads_back(trace.value());
}

TEST(WriteTrace, ReadsBackPhilly) {
  const auto path = data_file("philly_full.csv");
  if (!path) GTEST_SKIP() << "philly_full.csv not found; set MUSTER_DATA";
  const Result<Trace> trace = read_trace(*path, "", synergy_like_profiles());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  expect_reads_back(trace.value());
}

TEST(WriteTrace, WritesWhatBatsimKnowsBeforeARun) {
  const Result<Trace> trace = parse_trace(
      "job_id,submit_s,gpus,duration_s,estimate_s,model\n\"a,b\",0.5,2,60,90,res50\nc,1,1,7,,\n",
      "t.csv", "", synergy_like_profiles());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(write_batsim_csv(trace.value()),
            "job_id,workload_name,profile,submission_time,requested_number_of_resources,"
            "requested_time,execution_time\n"
            "\"a,b\",muster,res50,0.5,2,90,60\n"
            "c,muster,unknown,1,1,-1,7\n");
}

TEST(WriteTrace, CountsJobsThatFillAColumn) {
  const Result<Trace> trace =
      parse_trace("submit_s,gpus,duration_s,user,max_gpus,model\n0,1,1,ann,2,\n0,1,1,bob,,\n",
                  "t.csv", "", ProfileTable());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  std::string text;
  for (const ColumnUse& use : column_uses(trace.value())) {
    if (use.jobs > 0) text += std::string(use.name) + " " + std::to_string(use.jobs) + "; ";
  }
  EXPECT_EQ(text, "min_gpus 1; max_gpus 1; user 2; ");
}

TEST(WriteTrace, ForgetsModelsOurFormatWouldRefuse) {
  const ProfileTable profiles = synergy_like_profiles();
  Result<Trace> trace =
      parse_trace("job_id,num_gpu,submit_time,model_name,duration\n0,1,0,vgg19,5\n1,1,0,res50,5\n",
                  "t.csv", "", profiles);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(forget_unprofiled_models(trace.value(), profiles), 1u);
  EXPECT_EQ(trace.value().notes.back(), "models without a profile were removed from 1 jobs");
  EXPECT_EQ(write_trace_csv(trace.value()),
            "job_id,submit_s,gpus,duration_s,model\n0,0,1,5,\n1,0,1,5,res50\n");
}

}  // namespace
}  // namespace muster
