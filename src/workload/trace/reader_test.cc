#include "workload/trace/reader.h"

#include <gtest/gtest.h>

#include "tests/data.h"
#include "workload/trace/testing.h"

namespace muster {
namespace {

Trace must_parse(std::string_view text, std::string_view format = "") {
  const Result<Trace> trace = parse_trace(text, "t.csv", format, synergy_like_profiles());
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  return trace.ok() ? trace.value() : Trace();
}

Trace must_read(const std::string& path) {
  const Result<Trace> trace = read_trace(path, "", synergy_like_profiles());
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  return trace.ok() ? trace.value() : Trace();
}

TEST(ReadTrace, TakesOurColumnsInAnyOrder) {
  const Trace trace = must_parse(
      "gpus,duration_s,submit_s,model,user,tenant,name,gpu_type,estimate_s,iterations,job_id\n"
      "2,60.5,0,res50,ann,red,run,v100,90,77,first\n"
      "1,0,0.000001,,,,,,,,second\n");
  EXPECT_EQ(trace.format, "muster");
  EXPECT_EQ(trace.source, "t.csv");
  ASSERT_EQ(trace.jobs.size(), 2u);
  const TraceJob& job = trace.jobs[0];
  EXPECT_EQ(job.id, "first");
  EXPECT_EQ(job.gpus, 2);
  EXPECT_EQ(job.duration, Duration::micros(60'500'000));
  EXPECT_EQ(job.user_estimate, Duration::seconds(90));
  EXPECT_EQ(job.iterations, 77);
  EXPECT_EQ(trace.models[job.model], "res50");
  EXPECT_EQ(trace.users[job.user], "ann");
  EXPECT_EQ(trace.tenants[job.tenant], "red");
  EXPECT_EQ(trace.names[job.name], "run");
  EXPECT_EQ(trace.gpu_types[job.gpu_type], "v100");
  const TraceJob& other = trace.jobs[1];
  EXPECT_EQ(other.submit, Instant::micros(1));
  EXPECT_EQ(other.model + other.user + other.tenant + other.name + other.gpu_type, 0u);
  EXPECT_TRUE(trace.notes.empty());
}

TEST(ReadTrace, TakesTheRangeOfElasticJobs) {
  const Trace trace = must_parse(
      "submit_s,max_gpus,min_gpus,gpus,duration_s\n"
      "0,8,1,4,5\n0,,,4,5\n0,0,0,4,5\n0,,2,4,5\n0,4,4,4,5\n");
  ASSERT_EQ(trace.jobs.size(), 5u);
  const std::pair<int, int> ranges[] = {{1, 8}, {0, 0}, {0, 0}, {2, 0}, {4, 4}};
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    EXPECT_EQ(trace.jobs[i].gpus, 4);
    EXPECT_EQ(trace.jobs[i].fewest, ranges[i].first) << i;
    EXPECT_EQ(trace.jobs[i].most, ranges[i].second) << i;
  }
}

TEST(ReadTrace, NumbersJobsThatHaveNoId) {
  const Trace trace = must_parse("submit_s,gpus,duration_s\n0,1,5\n0,1,5\n");
  ASSERT_EQ(trace.jobs.size(), 2u);
  EXPECT_EQ(trace.jobs[0].id, "0");
  EXPECT_EQ(trace.jobs[1].id, "1");
}

TEST(ReadTrace, AcceptsWhatSpreadsheetsAndPeopleWrite) {
  const Trace trace = must_parse(
      "\xef\xbb\xbf# made by hand\r\n\r\n"
      "job_id, submit_s ,gpus,duration_s,user\r\n"
      "\"a, \"\"b\"\"\",0,1,1e3,\" x \"\r\n"
      "   \r\n"
      "# half way\r\n"
      "c , 1.5 ,1, 2,\"\"");
  ASSERT_EQ(trace.jobs.size(), 2u);
  EXPECT_EQ(trace.jobs[0].id, "a, \"b\"");
  EXPECT_EQ(trace.users[trace.jobs[0].user], " x ");
  EXPECT_EQ(trace.jobs[0].duration, Duration::seconds(1000));
  EXPECT_EQ(trace.jobs[1].id, "c");
  EXPECT_EQ(trace.jobs[1].submit, Instant::micros(1'500'000));
  EXPECT_EQ(trace.jobs[1].user, 0u);
}

TEST(ReadTrace, TakesDurationsFromProfilesInSynergyTraces) {
  const Trace trace = must_parse("0,alexnet,0.0,3349,1\n1,gnmt,0.001,26435,4\n");
  EXPECT_EQ(trace.jobs[0].duration, Duration::micros(2'009'400'000));
  EXPECT_EQ(trace.jobs[1].duration, Duration::micros(3'172'200'000));
  EXPECT_EQ(trace.jobs[1].submit, Instant::micros(1000));
  EXPECT_EQ(trace.jobs[1].iterations, 26435);
  EXPECT_EQ(trace.jobs[1].gpus, 4);
}

TEST(ReadTrace, SaysOnceWhatItCouldNotUse) {
  const Trace trace = must_parse(
      "job_id,num_gpu,submit_time,model_name,duration,ddl\n"
      "0,1,0,vgg19,5,9\n1,1,0,res50,5,9\n2,1,0,vgg11,5,9\n3,1,0,vgg19,5,9\n");
  ASSERT_EQ(trace.notes.size(), 2u);
  EXPECT_EQ(trace.notes[0], "1 column is not used: 'ddl'");
  EXPECT_EQ(trace.notes[1], "3 jobs have models without a profile: vgg19, vgg11");
}

TEST(ReadTrace, ReadsLongTimesExactly) {
  const Trace trace = must_parse("submit_s,gpus,duration_s\n3155759999.999999,1,0.000001\n");
  EXPECT_EQ(trace.jobs[0].submit.us(), 3'155'759'999'999'999);
  EXPECT_EQ(trace.jobs[0].duration.us(), 1);
}

TEST(ReadTrace, FindsIdsGivenTwiceHoweverTheyAreNumbered) {
  std::string ascending = "job_id,submit_s,gpus,duration_s\n";
  std::string mixed = ascending;
  for (int i = 0; i < 1000; ++i) {
    ascending += std::to_string(i) + ",0,1,1\n";
    mixed += (i % 2 == 0 ? "job " : "") + std::to_string(i) + ",0,1,1\n";
  }
  for (const std::string& text : {ascending, mixed}) {
    EXPECT_EQ(must_parse(text + "07,0,1,1\n").jobs.size(), 1001u);
    const Result<Trace> trace = parse_trace(text + "7,0,1,1\n", "t.csv", "", ProfileTable());
    ASSERT_FALSE(trace.ok());
    EXPECT_EQ(trace.error().message, "t.csv:1002: job_id: given twice: '7'; first on line 9");
  }
}

TEST(ReadTrace, CountsLinesPastBlanksAndComments) {
  const Result<Trace> trace = parse_trace(
      "# c\n\njob_id,submit_s,gpus,duration_s\n\n\na,0,1,1\n# d\nb,0,1,1\n\n#\nb,0,1,1\n", "t.csv",
      "", ProfileTable());
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().message, "t.csv:11: job_id: given twice: 'b'; first on line 8");
}

// The public traces, with numbers from their README.

TEST(PublicTraces, PhillyFull) {
  const auto path = data_file("philly_full.csv");
  if (!path) GTEST_SKIP() << "philly_full.csv not found; set MUSTER_DATA";
  const Trace trace = must_read(*path);
  EXPECT_EQ(trace.format, "philly");
  ASSERT_EQ(trace.jobs.size(), 82'247u);
  EXPECT_EQ(trace.tenants[trace.jobs[0].tenant], "7f04ca");
  EXPECT_EQ(trace.jobs[0].gpus, 8);
  EXPECT_EQ(trace.jobs[1].submit, Instant::at(Duration::seconds(235'696)));
  EXPECT_TRUE(trace.notes.empty());
}

TEST(PublicTraces, PhillyVcs) {
  const auto path = data_file("philly_vcs.csv");
  if (!path) GTEST_SKIP() << "philly_vcs.csv not found; set MUSTER_DATA";
  const Trace trace = must_read(*path);
  EXPECT_EQ(trace.format, "philly-vcs");
  EXPECT_EQ(trace.jobs.size(), 15'264u);
  EXPECT_EQ(trace.tenants.size(), 1u + 15u);
  EXPECT_EQ(trace.models[trace.jobs[0].model], "Transformer (batch size 128)");
  ASSERT_EQ(trace.notes.size(), 1u);
  EXPECT_TRUE(trace.notes[0].starts_with("15264 jobs have models without a profile: Transformer"));
}

TEST(PublicTraces, Tiresias) {
  const auto path = data_file("tiresias_60_job.csv");
  if (!path) GTEST_SKIP() << "tiresias_60_job.csv not found; set MUSTER_DATA";
  const Trace trace = must_read(*path);
  EXPECT_EQ(trace.format, "tiresias");
  ASSERT_EQ(trace.jobs.size(), 60u);
  EXPECT_EQ(trace.jobs[1].gpus, 8);
  EXPECT_EQ(trace.jobs[1].duration, Duration::seconds(147));
  EXPECT_EQ(trace.jobs[1].iterations, 133);
  ASSERT_EQ(trace.notes.size(), 1u);  // Synergy measured one of its models, alexnet.
  EXPECT_EQ(trace.notes[0],
            "54 jobs have models without a profile: vgg19, vgg11, inception4, vgg16 and 5 more");
}

TEST(PublicTraces, SynergyStatic) {
  const auto path = data_file("synergy_static_100job.txt");
  if (!path) GTEST_SKIP() << "synergy_static_100job.txt not found; set MUSTER_DATA";
  const Trace trace = must_read(*path);
  EXPECT_EQ(trace.format, "synergy");
  ASSERT_EQ(trace.jobs.size(), 100u);
  double hours = 0;
  for (const TraceJob& job : trace.jobs) hours += job.gpus * job.duration.in_hours();
  EXPECT_NEAR(hours, 296.8, 0.05);
  EXPECT_TRUE(trace.notes.empty());
}

}  // namespace
}  // namespace muster
