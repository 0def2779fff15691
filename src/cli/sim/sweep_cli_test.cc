// `muster sweep`: grids, cells that are not repeated, tables.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/common/testing.h"
#include "cli/sim/sweep_plan.h"
#include "cli/sim/sweep_slurm.h"

namespace muster {
namespace {

class SweepCli : public ScratchTest {
 protected:
  Output sweep(const std::string& more = "") const {
    return muster("sweep " + grid_ + " --out " + path("out") + more);
  }
  void write_grid(const std::string& options) const {
    std::ofstream(grid_) << "sim:\n  trace: " << trace_ << "\n  cluster: 1x4\n" << options;
  }
  std::size_t cells() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(dir_ / "out/cells"), {}));
  }

  std::string trace_ = file("jobs.csv",
                            "job_id,submit_s,gpus,duration_s\n"
                            "1,0,3,5000\n2,0,3,500\n3,20,2,30\n4,30,4,100\n");
  std::string grid_ = path("grid.yaml");
};

TEST_F(SweepCli, WritesARowACellAndARowAGroup) {
  write_grid("  policy: [fifo, srtf]\n  estimates: [\"noisy:0.5\", oracle]\n  seed: 1-3\n");
  const Output got = sweep();
  ASSERT_EQ(got.status, kExitDone) << got.err;
  const std::string results = slurp(dir_ / "out/results.csv");
  EXPECT_EQ(std::count(results.begin(), results.end(), '\n'), 13);
  EXPECT_TRUE(results.starts_with("trace,cluster,policy,estimates,seed,jobs,finished,")) << results;
  const std::string means = slurp(dir_ / "out/means.csv");
  EXPECT_EQ(std::count(means.begin(), means.end(), '\n'), 5);
  EXPECT_TRUE(has(means, ",srtf,oracle,3,")) << means;
  EXPECT_TRUE(has(got.out, "95% interval")) << got.out;
  EXPECT_FALSE(has(got.out, "cluster")) << "the same for all: " << got.out;
  EXPECT_TRUE(has(got.out, "the seed had no effect")) << "fifo uses no estimates: " << got.out;
  EXPECT_TRUE(has(got.out, " to ")) << "the errors of srtf depend on the seed: " << got.out;
}

TEST_F(SweepCli, RepeatsNoFinishedCellAndGivesTheSameBytes) {
  write_grid("  policy: [fifo, srtf, las]\n  seed: [1, 2]\n");
  ASSERT_EQ(sweep().status, kExitDone);
  const std::string results = slurp(dir_ / "out/results.csv");
  const std::string means = slurp(dir_ / "out/means.csv");
  fs::remove(*fs::directory_iterator(dir_ / "out/cells"));
  std::ofstream(dir_ / "out/cells/half.json.tmp1") << "{";
  std::ofstream(fs::directory_iterator(dir_ / "out/cells")->path()) << "{\"half\": ";
  const Output again = sweep(" --threads 1");
  ASSERT_EQ(again.status, kExitDone) << again.err;
  EXPECT_TRUE(has(again.err, "of 6 cells were already finished")) << again.err;
  EXPECT_EQ(slurp(dir_ / "out/results.csv"), results);
  EXPECT_EQ(slurp(dir_ / "out/means.csv"), means);
  EXPECT_EQ(cells(), 6U);
}

TEST_F(SweepCli, AChangedTraceIsANewCell) {
  write_grid("  policy: fifo\n");
  ASSERT_EQ(sweep().status, kExitDone);
  std::ofstream(trace_, std::ios::app) << "5,40,1,7\n";
  const Output again = sweep();
  ASSERT_EQ(again.status, kExitDone);
  EXPECT_FALSE(has(again.err, "already finished")) << again.err;
  EXPECT_EQ(cells(), 2U);
}

TEST_F(SweepCli, EveryFileOfACellCounts) {
  for (const char* const option :
       {"trace", "throughputs", "cluster", "profiles", "pairs", "tenants", "service"}) {
    SCOPED_TRACE(option);
    const std::string some = file("some", "1\n");
    const Grid grid = parse_grid(fmt::format("sim:\n  {}: {}\n", option, some), "grid").value();
    const std::string before = CellStore::join(path("out"))->key(grid, 0).value();
    std::ofstream(some, std::ios::app) << "2\n";
    EXPECT_NE(CellStore::join(path("out"))->key(grid, 0).value(), before);
  }
}

TEST_F(SweepCli, RefusesAGridThatMakesNoSenseBeforeAnythingRuns) {
  const struct {
    const char* options;
    const char* what;
  } cases[] = {
      {"  polcy: fifo\n",
       "grid.yaml:4: polcy: not an option of muster sim: 'polcy'; did you mean "},
      {"  policy: [fifo, srft]\n",
       "grid.yaml:4: policy: unknown policy 'srft'; did you mean 'srtf'?"},
      {"  policy: \"fifo,srtf\"\n",
       "grid.yaml:4: policy: 'fifo,srtf': several values in one cell; write [fifo,srtf]"},
      {"  slice: 0\n  scheduler: gandiva\n", "grid.yaml:4: slice: must be positive"},
      {"  out: x\n", "not an option of muster sim: 'out'"},
      {"  seed: [1, x]\n", "grid.yaml: cell 2: "},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.options);
    write_grid(each.options);
    expect_refused(sweep(), each.what);
    EXPECT_FALSE(fs::exists(dir_ / "out"));
  }
  expect_refused(muster("sweep " + path("none.yaml")), "none.yaml");
}

TEST_F(SweepCli, AFlagIsTrueOrFalse) {
  write_grid("  policy: mlfq-las\n  queues-by-time: [true, false]\n");
  const Output got = sweep();
  ASSERT_EQ(got.status, kExitDone) << got.err;
  EXPECT_EQ(cells(), 2U);
}

// What `--on slurm` plans and its tasks do, without Slurm.
class SweepSlices : public SweepCli {
 protected:
  // All cells of the grid, to be done in out/.
  SweepPlan plan() const {
    SweepPlan made;
    made.file = grid_;
    made.cwd = fs::current_path().string();
    made.out = path("out");
    made.grid = read_grid(grid_).value();
    const std::unique_ptr<CellStore> store = CellStore::open(made.out).value();
    for (std::size_t i = 0; i < made.grid.cells(); ++i) {
      made.cells.push_back({i, store->key(made.grid, i).value(), ""});
    }
    made.inputs = store->inputs();
    return made;
  }
  std::string write(const SweepPlan& made) const {
    fs::create_directories(dir_ / "out/slurm/1");
    return file("out/slurm/1/plan.json", plan_text(made));
  }
  static Output slice(const std::string& plan, const std::string& which) {
    return muster("sweep --threads 1 --plan " + plan + " --slice " + which);
  }
};

TEST_F(SweepSlices, TogetherDoWhatTheSweepDoes) {
  write_grid("  policy: [fifo, srtf, las]\n  seed: [1, 2]\n");
  ASSERT_EQ(muster("sweep " + grid_ + " --out " + path("here")).status, kExitDone);
  const std::string written = write(plan());
  ASSERT_EQ(slice(written, "2/4").status, kExitDone);
  EXPECT_EQ(cells(), 2U) << "the second and the sixth";
  for (const char* const which : {"1/4", "2/4", "3/4", "4/4"}) {
    const Output got = slice(written, which);
    EXPECT_EQ(got.status, kExitDone) << got.err;
    EXPECT_EQ(got.out + got.err, "");
  }
  for (const auto& entry : fs::directory_iterator(dir_ / "here/cells")) {
    EXPECT_EQ(slurp(entry.path()), slurp(dir_ / "out/cells" / entry.path().filename()));
  }
  const Output gathered = sweep();
  EXPECT_TRUE(has(gathered.err, "6 of 6 cells were already finished")) << gathered.err;
  EXPECT_EQ(slurp(dir_ / "out/results.csv"), slurp(dir_ / "here/results.csv"));
}

TEST_F(SweepSlices, ACellThatCannotBeDoneIsToldAsTheSweepTellsIt) {
  const std::string broken = file("broken.csv", "job_id,submit_s,gpus,duration_s\n1,0,x,5\n");
  std::ofstream(grid_) << "sim:\n  trace: [" << trace_ << ", " << broken << "]\n  cluster: 1x4\n";
  const Output here = muster("sweep " + grid_ + " --out " + path("here"));
  const SweepPlan made = plan();
  const Output got = slice(write(made), "2/2");
  EXPECT_EQ(got.status, kExitFailed);
  EXPECT_EQ(got.err, here.err);
  const std::map<std::string, std::string> failures = failures_in(path("out/slurm/1"));
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures.begin()->first, made.cells[1].key);
  EXPECT_EQ("muster: " + failures.begin()->second + "\n", here.err);
}

TEST_F(SweepSlices, WhatATaskSaidLastIsKnown) {
  EXPECT_EQ(words_in(path("none")), std::nullopt) << "no task could write there";
  file("task-1.log", "");
  EXPECT_EQ(words_in(dir_.string()), "");
  file("task-2.log", "first\nsh: muster: not\tfound\n\n");
  EXPECT_EQ(words_in(dir_.string()), "sh: muster: not found");
}

TEST_F(SweepSlices, RefusesAPlanThatIsNotOneAndInputsThatAreNotTheSame) {
  write_grid("  policy: fifo\n");
  const std::string good = write(plan());
  expect_refused(slice(path("none.json"), "1/1"), "none.json: cannot read: No such file");
  expect_refused(slice(good, "0/1"), "--slice: must be NUMBER/TOTAL, such as 3/12: '0/1'");
  expect_refused(slice(good, "2/1"), "--slice: ");
  expect_refused(muster("sweep --plan " + good), "--plan requires --slice");
  expect_refused(muster("sweep"), "grid is required; see 'muster sweep --help'");
  std::ofstream(trace_, std::ios::app) << "5,40,1,7\n";
  expect_refused(slice(good, "1/1"), "jobs.csv: differs on ");
  fs::remove(trace_);
  expect_refused(slice(good, "1/1"), "jobs.csv: cannot read: No such file or directory (on ");
  SweepPlan bad = read_plan(good).value();
  bad.cells[0].key = "../../x";
  expect_refused(slice(write(bad), "1/1"), "plan.json: not the plan of a sweep");
  expect_refused(slice(file("half.json", "{\"version\": "), "1/1"), "half.json: not the plan");
  expect_refused(slice(file("old.json", "{\"version\": \"0\"}"), "1/1"), "another version");
}

TEST_F(SweepCli, WhatSlurmIsToldIsCheckedFirst) {
  write_grid("  policy: fifo\n");
  expect_refused(sweep(" --on slrm"), "--on: unknown place 'slrm'; did you mean 'slurm'?");
  expect_refused(sweep(" --partition cpu"), "--partition: requires --on slurm");
  expect_refused(sweep(" --jobs-at-once 4"), "--jobs-at-once: requires --on slurm");
  expect_refused(sweep(" --on slurm --jobs-at-once 0"), "--jobs-at-once: ");
  expect_refused(sweep(" --on slurm --mem 4"), "--mem: no unit: '4'; write 4G or 4M");
  expect_refused(sweep(" --on slurm --time-limit 0"), "--time-limit: must be positive");
  EXPECT_FALSE(fs::exists(dir_ / "out"));
}

TEST(SlurmTasks, AreAsManyAsMakeSense) {
  SlurmOrder order;
  EXPECT_EQ(task_count(1, order, 1000), 1U);
  EXPECT_EQ(task_count(12, order, 1000), 12U);
  EXPECT_EQ(task_count(12, order, 5), 5U) << "an array may have no more";
  EXPECT_EQ(task_count(100'000, order, 1000), 256U);
  order.jobs_at_once = 800;
  EXPECT_EQ(task_count(100'000, order, 1000), 800U);
  order.cells_per_task = 5;
  EXPECT_EQ(task_count(12, order, 1000), 3U);
}

}  // namespace
}  // namespace muster
