// muster sim --from-live: what it refuses. What it does is shown with a real manager, in
// tests/live_whatif_test.py.

#include "cli/common/testing.h"

namespace muster {
namespace {

using SimLiveCli = ScratchTest;

TEST_F(SimLiveCli, RefusesWhatIsNoManagersPast) {
  expect_refused(muster("sim --from-live " + path("none")), "name a state directory");
  expect_refused(muster("sim --from-live " + dir_.string()), "journal.db");
  const std::string text = file("journal.db", "submit_s,gpus,duration_s\n0,1,2\n");
  expect_refused(muster("sim --from-live " + text), text);
  expect_refused(muster_words({"sim", "--from-live", ""}), "--from-live: must not be empty");
}

TEST_F(SimLiveCli, RefusesOptionsThatMakeNoSenseBesideIt) {
  expect_refused(muster("sim --since 7d"), "--since: requires --from-live");
  const std::string live = "sim --from-live " + path("none");
  expect_refused(muster(live + " --trace a.csv"), "--trace: cannot be combined with --from-live");
  expect_refused(muster(live + " --compat synergy"),
                 "--compat: cannot be combined with --from-live");
  expect_refused(muster(live + " --window 0:5"), "--window: cannot be combined with --from-live");
}

TEST_F(SimLiveCli, IsNothingForASweep) {
  const std::string grid = file("grid.yaml", "from-live: " + path("none") + "\n");
  expect_refused(muster("sweep " + grid + " --out " + path("out")), "from-live");
}

}  // namespace
}  // namespace muster
