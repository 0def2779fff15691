// The example jobs can be read and have the documented content.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "workload/input/job_file.h"
#include "workload/input/sbatch.h"

namespace muster {
namespace {

const std::string kJobs = MUSTER_EXAMPLES "/jobs/";
const std::string kWork = "/top/build/release/bin";

TEST(Examples, EveryJobFileIsOne) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kJobs)) {
    if (entry.path().extension() != ".yaml") continue;
    const Result<JobRequest> job = read_job_file(entry.path().string(), "/top");
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_EQ(job.value().cwd, kWork) << entry.path();
    EXPECT_TRUE(job.value().name.starts_with("spirals")) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 4);
}

TEST(Examples, TheGangAndTheSweepAreThat) {
  const JobRequest gang = read_job_file(kJobs + "gang.yaml", "/top").value();
  EXPECT_EQ(gang.gpus, 4);
  EXPECT_EQ(gang.launch_per, LaunchPer::kGpu);
  const JobRequest sweep = read_job_file(kJobs + "sweep.yaml", "/top").value();
  EXPECT_EQ(sweep.array, (ArrayRange{1, 10, 1, 3}));
  EXPECT_EQ(sweep.command[0], "/bin/sh");
}

TEST(Examples, TheScriptForSlurmNeedsNoChange) {
  const std::string path = kJobs + "slurm.sh";
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string steps = "5000";
  const Result<SbatchJob> job = parse_sbatch(text, path, {&steps, 1}, "/top");
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job.value().request.name, "spirals-slurm");
  EXPECT_EQ(job.value().request.gpus, 2);
  EXPECT_EQ(job.value().request.cwd, kWork);
  EXPECT_EQ(job.value().request.time_limit, Duration::seconds(1'800));
  EXPECT_EQ(job.value().request.grace, Duration::seconds(20));
  EXPECT_EQ(job.value().request.command.back(), steps);
  EXPECT_EQ(job.value().request.cpus, CpuAmount{1'000});
  EXPECT_EQ(job.value().request.mem, MemAmount{200});
  EXPECT_EQ(job.value().notes.size(), 1U);  // About the partition.
}

}  // namespace
}  // namespace muster
