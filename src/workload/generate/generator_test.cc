#include "workload/generate/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/types/digest.h"
#include "workload/trace/testing.h"

namespace muster {
namespace {

Trace generate(const GeneratorOptions& options) {
  Result<Trace> trace = generate_trace(options, synergy_like_profiles());
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  return trace.ok() ? std::move(trace).value() : Trace();
}

std::string digest_of(const Trace& trace) {
  Digest digest;
  for (const TraceJob& job : trace.jobs) {
    digest.add(job.id);
    digest.add(job.submit.us());
    digest.add(job.duration.us());
    digest.add(job.iterations);
    digest.add(static_cast<std::int64_t>(job.gpus));
    digest.add(trace.models[job.model]);
    digest.add(trace.users[job.user]);
    digest.add(trace.tenants[job.tenant]);
  }
  return digest.hex();
}

// The digests must be the same with every compiler and machine, so that experiments are comparable.
TEST(Generator, GivesTheSameTraceEverywhere) {
  GeneratorOptions options;
  EXPECT_EQ(digest_of(generate(options)), "68af88e22aa45b36");
  options.gpu_mix = parse_gpu_mix("multi").value();
  options.seed = 7;
  options.jobs = 5000;
  EXPECT_EQ(digest_of(generate(options)), "f3b3e88a7817da61");
}

TEST(Generator, KeepsStreamsApart) {
  GeneratorOptions options;
  const Trace slow = generate(options);
  options.jobs_per_hour = 90;
  options.gpu_mix = parse_gpu_mix("multi").value();
  const Trace fast = generate(options);
  EXPECT_LT(fast.jobs.back().submit, slow.jobs.back().submit);
  for (std::size_t i = 0; i < slow.jobs.size(); ++i) {
    ASSERT_EQ(slow.jobs[i].duration, fast.jobs[i].duration);
    ASSERT_EQ(slow.jobs[i].user, fast.jobs[i].user);
    ASSERT_EQ(slow.jobs[i].model, fast.jobs[i].model);
  }
}

TEST(Generator, TakesTurnsAsSynergyDoes) {
  GeneratorOptions options;
  options.jobs = 10;
  const Trace trace = generate(options);
  std::string models;
  for (const TraceJob& job : trace.jobs) models += trace.models[job.model] + " ";
  // Image first, then the task that is furthest below 20/70/10.
  EXPECT_EQ(models, "alexnet gnmt transformer m5 lstm gnmt res18 transformer lstm gnmt ");
  for (const TraceJob& job : trace.jobs) EXPECT_EQ(trace.names[job.name], trace.models[job.model]);
}

TEST(Generator, NeverPicksATaskNobodyAskedFor) {
  GeneratorOptions options;
  options.split = parse_task_split("0,49.5,49.5").value();
  const Trace trace = generate(options);
  EXPECT_FALSE(trace.models.find("alexnet").has_value());
  EXPECT_EQ(trace.models[trace.jobs[0].model], "gnmt");
}

TEST(Generator, FollowsItsLaws) {
  GeneratorOptions options;
  options.jobs = 100'000;
  options.gpu_mix = parse_gpu_mix("multi").value();
  const Trace trace = generate(options);
  std::map<std::int32_t, double> by_gpus;
  std::map<std::string, double> by_model;
  std::vector<double> hours;
  double sum = 0;
  Instant last;
  for (const TraceJob& job : trace.jobs) {
    by_gpus[job.gpus] += 100.0 / 100'000;
    by_model[trace.models[job.model]] += 100.0 / 100'000;
    hours.push_back(job.duration.in_hours());
    sum += hours.back();
    ASSERT_GT(job.submit, last);  // Gaps are rounded up to whole seconds.
    ASSERT_EQ(job.submit.us() % 1'000'000, 0);
    last = job.submit;
  }
  EXPECT_NEAR(by_gpus[1], 70, 0.6);
  EXPECT_NEAR(by_gpus[2], 10, 0.4);
  EXPECT_NEAR(by_gpus[4], 15, 0.5);
  EXPECT_NEAR(by_gpus[8], 5, 0.3);
  EXPECT_NEAR(by_model["alexnet"], 4, 0.01);
  EXPECT_NEAR(by_model["lstm"], 70.0 / 3, 0.01);
  EXPECT_NEAR(by_model["deepspeech"], 5, 0.01);
  // Measured with Synergy's own generator: mean 16.8 h, median 4.6 h, 32 min to 167 h.
  std::sort(hours.begin(), hours.end());
  EXPECT_NEAR(sum / 100'000, 16.8, 0.4);
  EXPECT_NEAR(hours[50'000], 4.6, 0.15);
  EXPECT_GT(hours.front(), 0.52);
  EXPECT_LT(hours.back(), 166.7);
  EXPECT_EQ(trace.users.size(), 1u + 8u);
  EXPECT_EQ(trace.tenants.size(), 1u + 4u);
  // Rounding up adds half a second to a mean gap of 400.
  EXPECT_NEAR(trace.jobs.back().submit.in_seconds() / 100'000, 400.5, 5);
}

TEST(Generator, CountsIterationsAtTheReferenceShare) {
  GeneratorOptions options;
  options.jobs = 50;
  const Trace trace = generate(options);
  const TraceJob& job = trace.jobs[0];  // alexnet, 0.6 s per iteration.
  EXPECT_EQ(job.iterations, static_cast<std::int64_t>(job.duration.in_seconds() / 0.6));
}

TEST(Generator, StaticTracesArriveAtOnce) {
  GeneratorOptions options;
  options.static_arrivals = true;
  options.jobs_per_hour = 0;
  for (const TraceJob& job : generate(options).jobs) ASSERT_EQ(job.submit, Instant());
}

TEST(Generator, RefusesBadOptions) {
  const auto complaint = [](auto change) {
    GeneratorOptions options;
    change(options);
    const MaybeError refusal = check_options(options);
    return refusal ? refusal->message : "(accepted)";
  };
  using Options = GeneratorOptions;
  EXPECT_EQ(complaint([](Options&) {}), "(accepted)");
  EXPECT_EQ(complaint([](Options& o) { o.jobs = 0; }), "jobs: must be 1 to 10000000: '0'");
  EXPECT_EQ(complaint([](Options& o) { o.jobs = 10'000'001; }),
            "jobs: must be 1 to 10000000: '10000001'");
  EXPECT_EQ(complaint([](Options& o) { o.jobs_per_hour = 0; }),
            "rate: must be above 0 and at most 1000000 jobs per hour: '0'");
  EXPECT_EQ(complaint([](Options& o) { o.jobs_per_hour = -3; }),
            "rate: must be above 0 and at most 1000000 jobs per hour: '-3'");
  EXPECT_EQ(complaint([](Options& o) { o.jobs_per_hour = 1e-9; }),
            "rate: too low for 1000 jobs: '1e-09'; use at least 0.0023 jobs per hour");
  EXPECT_EQ(complaint([](Options& o) {
              o.split = {20, 70, 20};
            }),
            "split: the percentages add up to 110, not 100: '20,70,20'");
  EXPECT_EQ(complaint([](Options& o) { o.gpu_mix = {}; }),
            "gpu-mix: the percentages add up to 0, not 100: ''");
  EXPECT_EQ(complaint([](Options& o) {
              o.gpu_mix = {{0, 100}};
            }),
            "gpu-mix: GPUs must be 1 to 6400000: '0'");
  EXPECT_EQ(complaint([](Options& o) { o.duration.short_share = 2; }),
            "durations: not a probability: '2'; 0 to 1");
  EXPECT_EQ(complaint([](Options& o) { o.duration.long_high = 20; }),
            "durations: invalid long range of exponents: '3..20'; must ascend within -3..7");
  const Result<Trace> trace = generate_trace(Options(), ProfileTable());
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().message, "split: no profile for a required model: 'alexnet'");
}

TEST(Generator, ReadsSplits) {
  const Result<TaskSplit> thirds = parse_task_split("33, 33,33");
  ASSERT_TRUE(thirds.ok());
  EXPECT_EQ(thirds.value().speech, 33);
  EXPECT_EQ(parse_task_split("20,80").error().message,
            "split: 2 values instead of 3: '20,80'; write image,language,speech such as 20,70,10");
  EXPECT_EQ(parse_task_split("20,x,80").error().message, "split: not a number: 'x'");
  EXPECT_EQ(parse_task_split("-20,100,20").error().message,
            "split: not a percentage: '-20'; 0 to 100");
}

TEST(Generator, ReadsMixes) {
  EXPECT_EQ(parse_gpu_mix("single").value().size(), 1u);
  const Result<std::vector<GpuShare>> mix = parse_gpu_mix("1:70,2:10, 4:15,8:5");
  ASSERT_TRUE(mix.ok()) << mix.error().message;
  ASSERT_EQ(mix.value().size(), 4u);
  EXPECT_EQ(mix.value()[2].gpus, 4);
  EXPECT_EQ(mix.value()[2].percent, 15);
  EXPECT_EQ(parse_gpu_mix("mutli").error().message,
            "gpu-mix: no such mix: 'mutli'; did you mean 'multi'?");
  EXPECT_EQ(
      parse_gpu_mix("").error().message,
      "gpu-mix: no such mix: ''; use single, multi or GPUs:percent such as 1:70,2:10,4:15,8:5");
  EXPECT_EQ(parse_gpu_mix("1:50,2").error().message,
            "gpu-mix: no percentage: '2'; write GPUs:percent");
  EXPECT_EQ(parse_gpu_mix("0:100").error().message, "gpu-mix: GPUs must be 1 to 6400000: '0'");
  EXPECT_EQ(parse_gpu_mix("1:50,1:50").error().message, "gpu-mix: given twice: '1'");
  EXPECT_EQ(parse_gpu_mix("1:50,2:40").error().message,
            "gpu-mix: the percentages add up to 90, not 100: '50,40'");
}

}  // namespace
}  // namespace muster
