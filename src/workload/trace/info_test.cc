#include "workload/trace/info.h"

#include <gtest/gtest.h>

#include "tests/data.h"
#include "workload/trace/reader.h"
#include "workload/trace/testing.h"

namespace muster {
namespace {

Trace small_trace() {
  const Result<Trace> trace = parse_trace(
      "submit_s,gpus,duration_s,user\n0,1,3600,ann\n0,8,1800,bob\n1800,4,10,ann\n90000,1,0,\n",
      "small.csv", "", ProfileTable());
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  return trace.ok() ? trace.value() : Trace();
}

TEST(TraceInfo, DescribesASmallTrace) {
  const TraceInfo info = describe(small_trace());
  EXPECT_EQ(info.jobs, 4);
  for (const ColumnUse& use : info.filled) EXPECT_EQ(use.jobs, use.name == "user" ? 3 : 0);
  EXPECT_EQ(info.span, Duration::seconds(90'000));
  EXPECT_NEAR(info.gpu_hours, 1 + 4 + 40.0 / 3600, 1e-9);
  ASSERT_EQ(info.sizes.size(), 3u);
  EXPECT_EQ(info.sizes[0].gpus, 1);
  EXPECT_EQ(info.sizes[0].jobs, 2);
  EXPECT_NEAR(info.sizes[2].gpu_hours, 4, 1e-9);
  EXPECT_EQ(info.p10, Duration());
  EXPECT_EQ(info.p50, Duration::seconds(905));
  EXPECT_EQ(info.p99, Duration::seconds(3600));
  EXPECT_EQ(info.longest, Duration::seconds(3600));
  EXPECT_EQ(info.mean, Duration::micros(1'352'500'000));
  EXPECT_EQ(info.users, 2u);
  EXPECT_EQ(info.tenants, 0u);
  EXPECT_EQ(info.peak_gpus, 9);  // The 8 are released before the 4 are taken.
  EXPECT_NEAR(info.mean_gpus, info.gpu_hours / 1.0, 1e-9);
}

TEST(TraceInfo, IsAllZerosWithoutJobs) {
  const TraceInfo info = describe(Trace());
  EXPECT_EQ(info.jobs, 0);
  EXPECT_EQ(info.longest, Duration());
  EXPECT_NE(info_text(Trace(), 80, Glyphs::kAscii).find("no jobs"), std::string::npos);
}

TEST(TraceInfo, DrawsAPage) {
  EXPECT_EQ(info_text(small_trace(), 62, Glyphs::kAscii), R"(small.csv  (muster)

  jobs       4
  submitted  over 25.0 h, the first at 0.00 s
  GPU-hours  5.01
  demand     mean 5.01 GPUs, peak 9, if no job had to wait
  from       0 tenants, 2 users, 0 models
  has        user (3 of 4)
  lacks      min_gpus, max_gpus, estimate_s, tenant, name,
             model, gpu_type, iterations

       GPUs        jobs                 GPU-hours
          1           2  ###########         1.00  ###
          4           1  ######              0.01  .
          8           1  ######              4.00  ###########

   run time        jobs
      < 1 s           1  ####################################
      < 4 s           0
     < 15 s           1  ####################################
    < 1 min           0
    < 4 min           0
   < 15 min           0
      < 1 h           1  ####################################
      < 4 h           1  ####################################

  run time
       p10       p50       p90       p99       max      mean
    0.00 s  15.1 min  60.0 min  60.0 min  60.0 min  22.5 min

  arrivals by hour, at most 3
  #                        -
)");
}

TEST(TraceInfo, StaysWithinItsWidth) {
  Trace trace;
  trace.source = "t";
  for (int i = 0; i < 400; ++i) {
    TraceJob job;
    job.gpus = 1 + i % 40;
    job.submit = Instant::at(Duration::seconds(i * 86'400));
    job.duration = Duration::seconds(std::int64_t{1} << (i % 24));
    trace.jobs.push_back(job);
  }
  for (const int width : {62, 80, 132}) {
    std::string page = info_text(trace, width, Glyphs::kAscii);
    std::size_t lines = 0;
    for (std::size_t end = page.find('\n'); end != std::string::npos; end = page.find('\n')) {
      EXPECT_LE(end, static_cast<std::size_t>(width)) << page.substr(0, end);
      EXPECT_FALSE(end > 0 && page[end - 1] == ' ');
      page.erase(0, end + 1);
      ++lines;
    }
    EXPECT_LT(lines, 45u);  // The chart shows 40 sizes in fewer rows.
  }
}

TEST(TraceInfo, AgreesWithWhatIsKnownOfPhilly) {
  const auto path = data_file("philly_full.csv");
  if (!path) GTEST_SKIP() << "philly_full.csv not found; set MUSTER_DATA";
  const Result<Trace> trace = read_trace(*path, "philly", ProfileTable());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const TraceInfo info = describe(trace.value());
  EXPECT_EQ(info.jobs, 82'247);
  EXPECT_NEAR(info.gpu_hours, 978'078, 1);
  EXPECT_NEAR(info.span.in_hours() / 24, 108.9, 0.05);
  EXPECT_EQ(info.p10, Duration::seconds(61));
  EXPECT_EQ(info.p50, Duration::seconds(1144));
  // The README interpolates between neighbors; describe() takes one of them.
  EXPECT_NEAR(info.p90.in_seconds(), 11'264, 5);
  EXPECT_NEAR(info.p99.in_seconds(), 254'611, 600);
  EXPECT_EQ(info.longest, Duration::seconds(4'628'226));
  EXPECT_NEAR(info.mean.in_seconds(), 13'136, 1);
  EXPECT_EQ(info.sizes.size(), 10u);
  EXPECT_EQ(info.tenants, 15u);
}

}  // namespace
}  // namespace muster
