// `muster sweep`: grids, cells that are not repeated, tables.

#include <gtest/gtest.h>

#include <string>

#include "cli/testing.h"

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
  EXPECT_TRUE(has(again.err, "of 6 cells were done before")) << again.err;
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
  EXPECT_FALSE(has(again.err, "done before")) << again.err;
  EXPECT_EQ(cells(), 2U);
}

TEST_F(SweepCli, RefusesAGridThatMakesNoSenseBeforeAnythingRuns) {
  const struct {
    const char* options;
    const char* what;
  } cases[] = {
      {"  polcy: fifo\n", "grid.yaml:4: polcy: no option of muster sim: 'polcy'; did you mean "},
      {"  policy: [fifo, srft]\n",
       "grid.yaml:4: policy: unknown policy 'srft'; did you mean 'srtf'?"},
      {"  policy: \"fifo,srtf\"\n",
       "grid.yaml:4: policy: 'fifo,srtf': several in one cell; write [fifo,srtf]"},
      {"  slice: 0\n  scheduler: gandiva\n", "grid.yaml:4: slice: zero"},
      {"  out: x\n", "no option of muster sim: 'out'"},
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

}  // namespace
}  // namespace muster
