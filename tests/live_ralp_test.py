#!/usr/bin/env python3
"""The RALP example with a real manager. It is stopped and resumed, and its losses equal those of an
uninterrupted run to the last bit. With MUSTER_LONG=1 it has three workers, otherwise one.

    tests/live_ralp_test.py MUSTER TRAINER [TEST...]
"""

import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import LiveTest, Programs, until  # noqa: E402
from live_torch_test import ENVIRONMENT, ROOT, needs_torch, python_with_torch  # noqa: E402

TRAIN = ROOT / "examples" / "ralp" / "train.py"
EPOCHS, STEPS = 2, 25  # Number of epochs, and steps per epoch.
WORKERS = 3 if os.environ.get("MUSTER_LONG") == "1" else 1


@needs_torch
class Ralp(LiveTest):
    CONFIG = {"virtual_gpus": WORKERS + 1, "cgroup": "none", "grace": "30s"}

    def train(self, name):
        words = ["--epochs", EPOCHS, "--size", WORKERS * 8 * STEPS, "--checkpoint", f"{name}.pt",
                 "--losses", f"{name}.losses", "--program", Programs.muster]
        return self.post_job([python_with_torch(), str(TRAIN), *map(str, words)], env=ENVIRONMENT,
                             gpus=WORKERS + 1, launch_per="gpu")

    def losses(self, name):
        path = pathlib.Path(self.daemon.work) / f"{name}.losses"
        return path.read_text().splitlines() if path.exists() else []

    def test_the_losses_are_those_of_a_run_that_was_not_stopped(self):
        job = self.train("stopped")
        until("it is in its first epoch", lambda: len(self.losses("stopped")) >= 3)
        self.daemon.post(f"/v1/jobs/{job}/hold")
        self.wait_state(job, "held")
        step = len(self.losses("stopped"))
        self.assertNotEqual(step % STEPS, 0)
        self.assertIn(f"[rank0]: stopped: step {step}\n[rank0]: Keep 13, 16 and 18 of Sequential "
                      "only on the parameter server", self.output(job, 1))
        whole = self.train("whole")
        self.wait_over(whole)
        self.daemon.post(f"/v1/jobs/{job}/release")
        done = self.wait_over(job)
        self.assertEqual([lease["state"] for lease in done["leases"]], ["stopped", "finished"])
        self.assertEqual(done["progress"]["step"], EPOCHS * STEPS)
        self.assertEqual(len(self.losses("whole")), EPOCHS * STEPS)
        self.assertEqual(self.losses("stopped"), self.losses("whole"))


if __name__ == "__main__":
    live_daemon.main(__doc__)
