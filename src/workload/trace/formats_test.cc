// Reads the files in testdata/ in each public format and checks the jobs and the notes about
// skipped rows.

#include <gtest/gtest.h>

#include <set>

#include "tests/data.h"
#include "workload/input/throughputs_file.h"
#include "workload/trace/format.h"
#include "workload/trace/reader.h"
#include "workload/trace/testing.h"
#include "workload/trace/writer.h"

namespace muster {
namespace {

ThroughputTable throughputs() {
  const Result<ThroughputTable> table = read_throughputs(testdata("throughputs.csv"));
  EXPECT_TRUE(table.ok()) << table.error().message;
  return table.ok() ? table.value() : ThroughputTable();
}

Trace must_read_format(const std::string& path, std::string_view format = "",
                       const ThroughputTable& table = throughputs()) {
  const Result<Trace> trace = read_trace(path, format, synergy_like_profiles(), &table);
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  return trace.ok() ? trace.value() : Trace();
}

Trace fixture(std::string_view name) { return must_read_format(testdata(name)); }

using Notes = std::vector<std::string>;

TEST(Formats, Helios) {
  const Trace trace = fixture("helios.csv");
  EXPECT_EQ(write_trace_csv(trace),
            "job_id,submit_s,gpus,duration_s,user,tenant\n"
            "1425514,0,16,10,uzqls,vcpDC\n"
            "1425511,11,1,36848,uXBbc,vcJkd\n"
            "1425512,37,4,249,uVMrF,vchbv\n"
            "1425516,19149,8,0,uVMrF,vchbv\n"
            "1425517,19150,2,3600,uXBbc,vcJkd\n");
  EXPECT_EQ(
      trace.notes,
      (Notes{"2 columns are not used: 'cpu_num', 'node_num'", "skipped: 1 row that requests no GPU",
             "skipped: 1 row that never ran", "skipped: 1 row that had not finished",
             "4 jobs did not complete (cancelled 1, failed 1, out of time 1, node failure "
             "1); their durations are the run times until then",
             "sorted by submit time: 1 job out of order", "time 0 is 2020-06-09 18:40:50"}));
}

TEST(Formats, HeliosDatesMayHaveZones) {
  const Trace trace = fixture("helios_zones.csv");
  EXPECT_EQ(write_trace_csv(trace),
            "job_id,submit_s,gpus,duration_s,user\n"
            "5778432,0,8,10,u5907\n"
            "5778433,3600,8,5.5,u5907\n");
}

TEST(Formats, PaiJobs) {
  const Trace trace = fixture("pai.csv");
  EXPECT_EQ(write_trace_csv(trace),
            "job_id,submit_s,gpus,duration_s,user,name\n"
            "5,900,1,10,d2d3b77d342e,\n"
            "3,1000,1,1086,58540f191766,g1\n"
            "4,1040,1,120.5,58540f191766,g1\n"
            "7,1100,8,0,d2d3b77d342e,g2\n"
            "8,1200,7,600,d2d3b77d342e,g2\n");
  EXPECT_EQ(trace.notes, (Notes{"2 columns are not used: 'num_cpu', 'gpu_type'",
                                "skipped: 2 rows that request no GPU",
                                "fractional GPUs were rounded up to whole GPUs in 2 jobs",
                                "sorted by submit time: 1 job out of order"}));
}

TEST(Formats, PaiTasks) {
  const Trace trace = fixture("pai_tasks.csv");
  EXPECT_EQ(write_trace_csv(trace),
            "job_id,submit_s,gpus,duration_s,name\n"
            "1,1739100,16,60,08ec6bba29a1\n"
            "0,1739162,1,38,4f057009a5d481acec67b088\n"
            "3,1739300,1,1,a1\n");
  EXPECT_EQ(
      trace.notes,
      (Notes{"4 columns are not used: 'task_name', 'plan_cpu', 'plan_mem', 'gpu_type'",
             "each task is read as a job, submitted when it was launched",
             "skipped: 1 row that requests no GPU", "skipped: 1 row that never ran",
             "skipped: 2 rows that had not finished", "skipped: 1 row that ends before it starts",
             "1 job did not complete (failed 1); its duration is the run time until then",
             "fractional GPUs were rounded up to whole GPUs in 2 jobs",
             "sorted by submit time: 1 job out of order"}));
}

TEST(Formats, PaiTasksWithAHeader) {
  const Result<Trace> trace = parse_trace(
      "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n"
      "a,worker,2.0,Terminated,5.0,9.0,600.0,29.3,100.0,T4\n",
      "t.csv", "", ProfileTable());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace.value().format, "pai-tasks");
  EXPECT_EQ(write_trace_csv(trace.value()), "job_id,submit_s,gpus,duration_s,name\n0,5,2,4,a\n");
}

TEST(Formats, OpenbPods) {
  const Trace trace = fixture("openb.csv");
  EXPECT_EQ(write_trace_csv(trace),
            "job_id,submit_s,gpus,duration_s,gpu_type\n"
            "openb-pod-0000,0,1,12537496,\n"
            "openb-pod-0001,427061,1,12475895,V100M16\n"
            "openb-pod-0002,1558381,8,1,\n");
  EXPECT_EQ(trace.notes,
            (Notes{"3 columns are not used: 'cpu_milli', 'memory_mib', 'qos'",
                   "skipped: 1 row that requests no GPU", "skipped: 1 row that never ran",
                   "1 job did not complete (failed 1); its duration is the run time until then",
                   "fractional GPUs were rounded up to whole GPUs in 1 job",
                   "a list of GPU types was read as any type in 1 job"}));
}

TEST(Formats, GavelTakesTimeFromThroughputs) {
  const Trace seven = fixture("gavel7.trace");
  EXPECT_EQ(write_trace_csv(seven),
            "job_id,submit_s,gpus,duration_s,model,iterations\n"
            "0,0,1,1461.2,Transformer (batch size 128),14612\n"
            "1,188008,2,1000,LM (batch size 10),163129\n"
            "3,188011,1,12983.694412,CycleGAN,57467\n");
  EXPECT_EQ(seven.notes,
            (Notes{"1 column is not used: 'command'", "skipped: 1 row that requests no GPU",
                   "3 jobs have models without a profile: Transformer (batch size 128), LM (batch "
                   "size 10), CycleGAN"}));
  EXPECT_EQ(write_trace_csv(fixture("gavel9.trace")),
            "job_id,submit_s,gpus,duration_s,model,iterations\n"
            "0,0,2,1000,LM (batch size 10),163129\n"
            "1,12.5,1,100000,CycleGAN,442609\n");
  EXPECT_EQ(write_trace_csv(fixture("gavel10.trace")),
            "job_id,submit_s,gpus,duration_s,model,iterations\n"
            "1,12,1,100000,CycleGAN,442609\n"
            "0,20,2,1000,LM (batch size 10),163129\n");
}

TEST(Formats, GavelTakesTimeFromProfilesToo) {
  const Result<Trace> trace = parse_trace("gnmt\tpython x.py\t-n\t1\t100\t5.0\t4\n", "t.trace", "",
                                          synergy_like_profiles());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace.value().jobs[0].duration, Duration::seconds(12));
}

TEST(Formats, ShockwaveHasTheDuration) {
  const Trace trace = fixture("gavel12.trace");
  EXPECT_EQ(write_trace_csv(trace),
            "job_id,submit_s,gpus,duration_s,model,iterations\n"
            "0,0,1,1418,LM (batch size 10),134583\n"
            "1,55,4,3338,ResNet-18 (batch size 32),143450\n");
  EXPECT_EQ(trace.notes[0], "4 columns are not used: 'command', 'mode', 'priority_weight', 'SLO'");
  EXPECT_EQ(fixture("shockwave.csv").jobs, trace.jobs);
}

TEST(Formats, SiaTakesStepsAndTimeFromThroughputs) {
  const Trace trace = fixture("sia.csv");
  EXPECT_EQ(write_trace_csv(trace),
            "job_id,submit_s,gpus,duration_s,model,iterations\n"
            "cifar10-0,107,8,2441.4,cifar10,48828\n"
            "bert-1,110.661836,12,7200,bert,3600\n");
}

TEST(Formats, ElasticFlow) {
  const Trace trace = fixture("elasticflow.csv");
  EXPECT_EQ(write_trace_csv(trace),
            "job_id,submit_s,gpus,duration_s,model,iterations\n"
            "0,0,1,976571,vgg16,1282878\n"
            "1,219316,4,1792395,res50,26446831\n");
  EXPECT_EQ(trace.notes, (Notes{"3 columns are not used: 'ddl', 'batch_size', 'best_effort'",
                                "1 job has a model without a profile: vgg16"}));
}

TEST(Formats, StandardWorkloadFormat) {
  const Trace trace = fixture("swf.swf");
  EXPECT_EQ(write_trace_csv(trace),
            "job_id,submit_s,gpus,duration_s,estimate_s,user,tenant,name\n"
            "1,0,8,600,900,3,1,7\n"
            "4,20,16,60.5,0,,,7\n"
            "2,30,4,25,60,4,1,\n"
            "5,40,2,100,0,3,1,7\n"
            "7,60,1,9,0,3,1,7\n");
  EXPECT_EQ(trace.notes,
            (Notes{"7 columns are not used: 'average_cpu_time', 'used_memory', "
                   "'requested_memory', 'queue' and 3 more",
                   "processors are read as GPUs",
                   "skipped: 2 rows that are parts of jobs that have their own rows",
                   "skipped: 1 row that requests no GPU", "skipped: 1 row that never ran",
                   "1 job did not complete (failed 1); its duration is the run time until then",
                   "sorted by submit time: 1 job out of order"}));
}

// Each row of the table needs a description, and a file in testdata/ that is detected as this
// format.
TEST(Formats, EachHasADescriptionAndAFile) {
  std::set<std::string> detected;
  for (const std::string& name : trace_files()) detected.insert(fixture(name).format);
  std::set<std::string> listed;
  for (const TraceFormat& format : trace_formats()) {
    EXPECT_TRUE(listed.emplace(format.name).second) << format.name << " has two descriptions";
  }
  EXPECT_EQ(detected, listed);
  for (const FormatSpec& spec : format_specs())
    EXPECT_TRUE(listed.contains(std::string(spec.name)));
}

// Writing the jobs of each format in Muster's own format and reading them does not change them.
TEST(Formats, ReadBackFromOurOwn) {
  const ProfileTable profiles = synergy_like_profiles();
  for (const std::string& name : trace_files()) {
    SCOPED_TRACE(name);
    Trace trace = fixture(name);
    EXPECT_EQ(must_read_format(testdata(name), trace.format).jobs, trace.jobs);
    forget_unprofiled_models(trace, profiles);
    expect_reads_back(trace);
  }
}

// The public files, with numbers from their README or counted with other programs.

TEST(PublicTraces, OpenbPods) {
  const auto path = data_file("alibaba_openb_pod_list_default.csv");
  if (!path) GTEST_SKIP() << "alibaba_openb_pod_list_default.csv not found; set MUSTER_DATA";
  const Trace trace = must_read_format(*path);
  EXPECT_EQ(trace.format, "openb");
  EXPECT_EQ(trace.jobs.size(), 8152u - 1088u - 861u);
  EXPECT_EQ(trace.jobs[1].duration, Duration::seconds(12902960 - 427061));
}

TEST(PublicTraces, ElasticFlow) {
  const auto path = data_file("elasticflow_philly_103959.csv");
  if (!path) GTEST_SKIP() << "elasticflow_philly_103959.csv not found; set MUSTER_DATA";
  const Trace trace = must_read_format(*path);
  EXPECT_EQ(trace.format, "elasticflow");
  ASSERT_EQ(trace.jobs.size(), 876u);
  EXPECT_EQ(trace.jobs[1].gpus, 4);
  EXPECT_EQ(trace.jobs[1].duration, Duration::seconds(1792395));
}

TEST(PublicTraces, Shockwave) {
  const auto path = data_file("shockwave_120job_trace.csv");
  if (!path) GTEST_SKIP() << "shockwave_120job_trace.csv not found; set MUSTER_DATA";
  const Trace trace = must_read_format(*path);
  EXPECT_EQ(trace.format, "gavel");
  ASSERT_EQ(trace.jobs.size(), 120u);
  EXPECT_EQ(trace.jobs[0].duration, Duration::seconds(1418));
}

TEST(PublicTraces, SiaLacksRunTimes) {
  const auto path = data_file("sia_philly_workload-1.csv");
  if (!path) GTEST_SKIP() << "sia_philly_workload-1.csv not found; set MUSTER_DATA";
  const Result<Trace> trace = read_trace(*path, "", synergy_like_profiles());
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(
      trace.error().message,
      *path + ":2: application: the trace has no run time; use --throughputs FILE: 'cifar10'");
}

// Gavel's own throughputs give the run times for a Gavel trace without run times.
TEST(PublicTraces, GavelThroughputs) {
  const auto path = data_file("gavel_throughputs.csv");
  if (!path) GTEST_SKIP() << "gavel_throughputs.csv not found; set MUSTER_DATA";
  const Result<ThroughputTable> table = read_throughputs(*path);
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table.value().size(), 83u);
  const Trace trace = must_read_format(testdata("gavel7.trace"), "", table.value());
  EXPECT_EQ(trace.jobs[0].duration, Duration::micros(2'683'015'951));  // 14612 / 5.44611
}

}  // namespace
}  // namespace muster
