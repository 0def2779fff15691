#include "workload/input/sbatch.h"
#include "base/text/utf8.h"

#include <gtest/gtest.h>

#include "base/types/testing.h"

namespace muster {
namespace {

using Words = std::vector<std::string>;

Result<SbatchJob> parse_script(std::string_view text, const Words& args = {}) {
  return parse_sbatch(text, "/home/ann/run.sh", args, "/here");
}

// Parses a script with these options and one GPU.
SbatchJob with(const std::string& options) {
  const Result<SbatchJob> job = parse_script("#!/bin/bash\n#SBATCH -G1 " + options + "\ntrue\n");
  EXPECT_TRUE(job.ok()) << (job.ok() ? "" : job.error().message);
  return job.ok() ? job.value() : SbatchJob{};
}

std::string sbatch_refused(const std::string& options) {
  const Result<SbatchJob> job = parse_script("#SBATCH " + options + "\n");
  if (job.ok()) return "accepted";
  EXPECT_EQ(job.error().message.find("/home/ann/run.sh:"), 0U);
  return job.error().message.substr(17);
}

TEST(Sbatch, ReadsAUsualScript) {
  const std::string script =
      "#!/bin/bash -l\n"
      "#SBATCH --job-name=resnet   # what it is\n"
      "\n"
      "# A remark.\n"
      "#SBATCH -N 2 --gres=gpu:a100:4\n"
      "#SBATCH --time=1-12:00:00\n"
      "#SBATCH -A vision --array=0-9%3\n"
      "##SBATCH --time=1\n"
      "# SBATCH --time=2\n"
      "#SBATCH --dependency=afterok:11:12,afterany:13\n"
      "#SBATCH -D work -H\n"
      "module load cuda\n"
      "python train.py \"$1\"\n";
  const Result<SbatchJob> job = parse_script(script, {"--fast"});
  ASSERT_TRUE(job.ok()) << job.error().message;
  JobRequest wanted;
  wanted.name = "resnet";
  wanted.gpus = 8;
  wanted.gpu_type = "a100";
  wanted.time_limit = Duration::seconds(36 * 3'600);
  wanted.tenant = "vision";
  wanted.spread = 2;
  wanted.array = ArrayRange{0, 9, 1, 3};
  wanted.after_ok = {11, 12};
  wanted.after_any = {13};
  wanted.cwd = "/here/work";
  wanted.hold = true;
  wanted.command = {"/bin/bash", "-l", "-c", script, "/home/ann/run.sh", "--fast"};
  EXPECT_EQ(request_json(job.value().request), request_json(wanted));
  EXPECT_TRUE(job.value().whole_environment);
  EXPECT_EQ(job.value().notes,
            Words{"/home/ann/run.sh: --nodes: 8 GPUs on at most 2 nodes, possibly fewer"});
}

TEST(Sbatch, AScriptOfNoWordsGetsOneGpuAndANameAndBash) {
  const Result<SbatchJob> job = parse_script("true\n");
  ASSERT_TRUE(job.ok()) << job.error().message;
  const JobRequest& request = job.value().request;
  EXPECT_EQ(request.gpus, 1);
  EXPECT_EQ(request.name, "run.sh");
  EXPECT_EQ(request.cwd, "/here");
  EXPECT_EQ(request.command, (Words{"/bin/bash", "-c", "true\n", "/home/ann/run.sh"}));
  EXPECT_EQ(job.value().notes,
            Words{"/home/ann/run.sh: requests no GPU; every job in Muster gets at least one"});
}

TEST(Sbatch, CountsGpusAsSlurmDoes) {
  const auto gpus = [](const std::string& options) {
    const Result<SbatchJob> job = parse_script("#SBATCH " + options + "\n");
    return job.ok() ? job.value().request.gpus : -1;
  };
  EXPECT_EQ(gpus("--gpus=3"), 3);
  EXPECT_EQ(gpus("-G v100:3"), 3);
  EXPECT_EQ(gpus("-G3 --gpus 5"), 5);
  EXPECT_EQ(gpus("--gres=gpu"), 1);
  EXPECT_EQ(gpus("--gres=gpu:2"), 2);
  EXPECT_EQ(gpus("--gres=gpu:v100"), 1);
  EXPECT_EQ(gpus("--gres=craynetwork:1,gpu:2 -N3"), 6);
  EXPECT_EQ(gpus("--gpus-per-node=4 --nodes=2-4"), 8);
  EXPECT_EQ(gpus("--gpus-per-node=4 --nodes=2 --gpus=8"), 8);
  EXPECT_EQ(gpus("--gpus-per-node=4 --gpus=8"), 8);
  EXPECT_EQ(gpus("--gpus-per-task=2 -n 4"), 8);
  EXPECT_EQ(gpus("--gpus-per-task=2 -N2 --ntasks-per-node=3"), 12);
  EXPECT_EQ(gpus("--gpus-per-task=2"), 2);
  EXPECT_EQ(gpus("--gres=none"), 1);
  expect_texts(
      sbatch_refused,
      {
          {"--gpus-per-node=4 -N2 --gpus=9", " --gpus 9 contradicts 2 nodes with 4 GPUs each"},
          {"--gpus-per-node=60000 -N2", " 120000 GPUs in total; the maximum is 65536"},
          {"--gpus=a:1,b:2",
           "1: --gpus: several GPU types in one job are not supported: 'a:1,b:2'"},
          {"--gres=gpu:", "1: --gres: number of GPUs missing"},
          {"--nodes=2-x", "1: --nodes: not a number of nodes: '2-x'"},
          {"--ntasks=0", "1: --ntasks: not between 1 and 65536: '0'"},
      });
}

TEST(Sbatch, CpusAndMemoryAreOfTheWholeJob) {
  const auto amounts = [](const std::string& options) {
    const JobRequest request = parse_script("#SBATCH " + options + "\n").value().request;
    return (request.cpus ? cpus_text(*request.cpus) : "-") + " " +
           (request.mem ? mem_text(*request.mem) : "-");
  };
  EXPECT_EQ(amounts("-G2"), "- -");
  EXPECT_EQ(amounts("-G2 --mem=64G"), "- 64G");
  EXPECT_EQ(amounts("-G2 --mem=2000"), "- 2000M") << "Slurm's bare number is of megabytes";
  EXPECT_EQ(amounts("--gpus-per-node=4 -N2 --mem=100G"), "- 200G") << "of each node";
  EXPECT_EQ(amounts("-G4 --mem-per-gpu=20G"), "- 80G");
  EXPECT_EQ(amounts("-G1 -c8"), "8 -");
  EXPECT_EQ(amounts("-G4 -n4 -c8"), "32 -");
  EXPECT_EQ(amounts("-G4 --cpus-per-gpu=6"), "24 -");
  EXPECT_EQ(amounts("-G1 -c8 --mem-per-cpu=4G"), "8 32G");
  EXPECT_EQ(amounts("-G2 -n2 --mem-per-cpu=4G"), "- 8G") << "a CPU for each task";
  expect_texts(sbatch_refused,
               {
                   {"--mem=12Q", "1: --mem: unknown unit 'Q' in '12Q'; use K, M, G or T"},
                   {"-c 0", "1: --cpus-per-task: not between 1 and 1000000: '0'"},
                   {"--mem=-3G", "1: --mem: negative: '-3G'"},
                   {"--mem=900000T --nodes=9", " mem: not between 1M and 1048576G: 8294400000G"},
               });
  const Result<SbatchJob> all = parse_script("#SBATCH -G1 --mem=0\n");
  EXPECT_FALSE(all.value().request.mem.has_value());
  EXPECT_EQ(all.value().notes,
            Words{"/home/ann/run.sh: --mem=0 is ignored: Muster shares nodes and never gives a job "
                  "all memory of a node"});
}

TEST(Sbatch, NodesAreNodesAtMost) {
  const auto spread = [](const std::string& options) {
    return parse_script("#SBATCH " + options + "\n").value().request.spread.value_or(0);
  };
  EXPECT_EQ(spread("-G8"), 0);
  EXPECT_EQ(spread("-G8 -N1"), 1);
  EXPECT_EQ(spread("-G8 -N2"), 2);
  EXPECT_EQ(spread("-G8 --nodes=2-4"), 4);
  EXPECT_EQ(spread("-G2 -N2"), 0) << "there cannot be more";
}

TEST(Sbatch, ATaskForEachGpuStartsOnEachGpu) {
  const auto per = [](const std::string& options) {
    return parse_script("#SBATCH " + options + "\n").value().request.launch_per;
  };
  EXPECT_EQ(per("-N2 --gpus-per-node=4 --ntasks-per-node=4"), LaunchPer::kGpu);
  EXPECT_EQ(per("-N2 --gpus=8 --ntasks-per-node=4"), LaunchPer::kGpu);
  EXPECT_EQ(per("-N2 --gpus-per-node=4 --ntasks-per-node=1"), LaunchPer::kNode);
  EXPECT_EQ(per("-N2 --gpus-per-node=4"), LaunchPer::kNode);
  EXPECT_EQ(per("--gpus=1 --ntasks-per-node=1"), LaunchPer::kNode);
}

TEST(Sbatch, ReadsTimesAsSlurmWritesThem) {
  const auto seconds = [](std::string_view text) {
    const Result<Duration> time = parse_slurm_time(text);
    return time.ok() ? time.value().us() / 1'000'000 : -1;
  };
  EXPECT_EQ(seconds("90"), 5'400);
  EXPECT_EQ(seconds("90:30"), 5'430);
  EXPECT_EQ(seconds("2:00:05"), 7'205);
  EXPECT_EQ(seconds("1-2"), 93'600);
  EXPECT_EQ(seconds("1-2:03"), 93'780);
  EXPECT_EQ(seconds("1-2:03:04"), 93'784);
  EXPECT_EQ(seconds("0"), 0);
  EXPECT_EQ(seconds("UNLIMITED"), 0);
  for (const char* bad : {"", ":", "1:", "-1", "1-", "1-2-3", "1:2:3:4", "1-2:3:4:5", "2h", "1.5",
                          "99999999999999999999", "999999999-0", "3155760000:00:00"}) {
    EXPECT_EQ(seconds(bad), -1) << bad;
  }
}

TEST(Sbatch, TakesTheEnvironmentAsTold) {
  const SbatchJob all = with("--export=ALL,A=b=c,D=");
  EXPECT_TRUE(all.whole_environment);
  EXPECT_EQ(all.request.env, (std::map<std::string, std::string>{{"A", "b=c"}, {"D", ""}}));
  const SbatchJob some = with("--export=HOME,A=1");
  EXPECT_FALSE(some.whole_environment);
  EXPECT_EQ(some.variables, Words{"HOME"});
  const SbatchJob none = with("--export=NONE");
  EXPECT_FALSE(none.whole_environment);
  EXPECT_TRUE(none.variables.empty() && none.request.env.empty());
  EXPECT_EQ(sbatch_refused("--export=A-B=1"), " env: not a variable name: 'A-B'");
}

TEST(Sbatch, TakesPriorityRetriesAndSignals) {
  EXPECT_EQ(with("--nice").request.priority, -100);
  EXPECT_EQ(with("--nice=-20").request.priority, 20);
  EXPECT_EQ(with("--priority=30 --nice=10").request.priority, 20);
  const SbatchJob eager = with("--priority=4294967295");
  EXPECT_EQ(eager.request.priority, 1'000);
  EXPECT_EQ(eager.notes, Words{"/home/ann/run.sh: priority 4294967295 is limited to 1000"});
  EXPECT_EQ(with("--no-requeue").request.retries, 0);
  EXPECT_EQ(with("--no-requeue --requeue").request.retries, std::nullopt);
  const SbatchJob warned = with("--signal=B:TERM@120");
  EXPECT_EQ(warned.request.grace, Duration::seconds(120));
  EXPECT_TRUE(warned.notes.empty());
  EXPECT_EQ(with("--signal=SIGUSR1@90").notes,
            Words{"/home/ann/run.sh:2: --signal: Muster sends SIGTERM 90 s before SIGKILL, instead "
                  "of 'USR1'"});
}

TEST(Sbatch, SaysWhatItPassesOver) {
  EXPECT_EQ(with("-p gpu --mem=64G -c8 --hint=compute_bound -o out-%j.txt").notes,
            (Words{"/home/ann/run.sh:2: --partition is ignored: Muster has tenants, not "
                   "partitions",
                   "/home/ann/run.sh:2: --hint is ignored: Muster chooses CPUs and memory based "
                   "on the job's model",
                   "/home/ann/run.sh:2: --output is ignored: Muster stores the output: see "
                   "muster logs"}));
  const Result<SbatchJob> job =
      parse_script("#SBATCH -G2\n  srun python $SLURM_ARRAY_TASK_ID\n#SBATCH -G4\n");
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job.value().request.gpus, 2);
  ASSERT_EQ(job.value().notes.size(), 2U);
  EXPECT_EQ(job.value().notes[0], "/home/ann/run.sh:3: #SBATCH after the first command is ignored");
}

TEST(Sbatch, NamesWhatIsNotAsItSeems) {
  const auto notes = [](const std::string& script) {
    const Result<SbatchJob> job = parse_script(script);
    EXPECT_TRUE(job.ok()) << job.error().message;
    return job.value().notes;
  };
  EXPECT_EQ(notes("#SBATCH -G1\npython a.py $SLURM_ARRAY_TASK_ID\n"), Words());
  EXPECT_EQ(notes("#SBATCH -G1\necho $SLURM_JOB_ID ${SLURM_JOB_ID} $SLURM_NTASKS\n"),
            (Words{"/home/ann/run.sh: uses SLURM_JOB_ID, SLURM_NTASKS, which Muster does not set; "
                   "it sets MUSTER_..., RANK and others"}));
  EXPECT_EQ(notes("#SBATCH --gres=gpu:two\npython a.py\n"),
            (Words{"/home/ann/run.sh:1: 'two' is read as a GPU type; the job gets 1 GPU"}));
  EXPECT_EQ(notes("#SBATCH --gres=gpu:a100:2\npython a.py\n"), Words());
}

TEST(Sbatch, ReadsWordsAsAShellWould) {
  EXPECT_EQ(with("--job-name='two words'").request.name, "two words");
  EXPECT_EQ(with("-J \"it's\"").request.name, "it's");
  EXPECT_EQ(with("-J a\\ b").request.name, "a b");
  EXPECT_EQ(with("-J a#b # and so on --gpus=9").request.name, "a#b");
  const SbatchJob flags = with("-HQ -Jx");
  EXPECT_TRUE(flags.request.hold);
  EXPECT_EQ(flags.request.name, "x");
}

TEST(Sbatch, RefusesWhatItCannotDo) {
  expect_texts(sbatch_refused, {
                                   {"--gpu=1", "1: unknown option: '--gpu'; did you mean 'gpus'?"},
                                   {"-Z", "1: unknown option: '-Z'"},
                                   {"gpus=1", "1: not an option: 'gpus=1'"},
                                   {"-", "1: not an option: '-'"},
                                   {"--gpus", "1: --gpus: requires a value"},
                                   {"--hold=1", "1: --hold: takes no value"},
                                   {"-J 'x", "1: a quote is not closed"},
                               });
  EXPECT_EQ(sbatch_refused("-J a/b").find(" name: must be printable"), 0U);
  expect_texts(
      sbatch_refused,
      {
          {"-t 2h", "1: --time: not a time: '2h'; write min, h:min:s or d-h:min:s"},
          {"-a 1,2", "1: --array: not an array range: '1,2'; write 0-9, 0-9:2 or 0-9%3"},
          {"-d afternotok:3",
           "1: --dependency: only afterok:ID and afterany:ID are supported: 'afternotok:3'"},
          {"-d singleton",
           "1: --dependency: only afterok:ID and afterany:ID are supported: 'singleton'"},
          {"-d afterok:x", "1: --dependency: not a job id: 'x'"},
      });
}

TEST(Sbatch, RunsShellsOnly) {
  const auto shell = [](const std::string& line) -> std::string {
    const Result<SbatchJob> job = parse_script(line + "\n");
    if (!job.ok()) return job.error().message;
    std::string words;
    for (const std::string& word : job.value().request.command) {
      if (word == "-c") break;
      words += word + " ";
    }
    return words;
  };
  expect_texts(
      shell,
      {
          {"#!/bin/sh", "/bin/sh "},
          {"#! /bin/bash  -l", "/bin/bash -l "},
          {"#!/usr/bin/env bash", "/usr/bin/env bash "},
          {"#!/usr/bin/env -S zsh -f", "/usr/bin/env -S zsh -f "},
          {"#!/usr/bin/python3",
           "/home/ann/run.sh:1: not a shell script but a script for '/usr/bin/python3'; submit "
           "the program itself, or call it from a bash script"},
      });
  EXPECT_EQ(shell("#!/usr/bin/env python3").find("/home/ann/run.sh:1: not a shell"), 0U);
  EXPECT_EQ(shell("#!/usr/bin/env").find("/home/ann/run.sh:1: not a shell"), 0U);
  EXPECT_EQ(shell("#!"), "/home/ann/run.sh:1: no program after '#!'");
  EXPECT_EQ(shell("#!/bin/bash\r"),
            "/home/ann/run.sh:1: DOS line ending; convert the file with dos2unix");
  EXPECT_EQ(parse_script(std::string(kMaxWordBytes, '#')).error().message,
            "/home/ann/run.sh: script too long; the maximum is 131071 bytes");
}

}  // namespace
}  // namespace muster
