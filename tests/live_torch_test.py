#!/usr/bin/env python3
"""PyTorch with a real manager. The example is stopped and resumed twice, and its losses equal those
of an uninterrupted run to the last bit. Also: several ranks that stop at the same step.

    tests/live_torch_test.py MUSTER TRAINER [TEST...]
"""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import LiveTest, until  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
TRAIN = ROOT / "examples" / "pytorch" / "train.py"
EPOCHS, EPOCH = 3, 48  # Number of epochs, and steps per epoch, which takes 1.5 s.
WORDS = ["--epochs", EPOCHS, "--size", 32 * EPOCH, "--load-ms", 2]
ENVIRONMENT = {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}


# Ranks with different speeds that synchronize every second step.
RANKS = """
import json, muster, time, torch
import torch.distributed as dist
dist.init_process_group("gloo")
def agree(stop):
    flag = torch.tensor(int(stop))
    dist.all_reduce(flag, dist.ReduceOp.MAX)
    return bool(flag)
path = f"rank{muster.rank()}"
saved = muster.resume(path, json.load)
loader = muster.Loader(range(300), saved and saved["at"], agree=agree, agree_every=3,
                       report_every=0)
for epoch in loader.epochs(1):
    for batch in loader:
        time.sleep(0.002 + 0.004 * muster.rank())
        if batch % 2: dist.all_reduce(torch.ones(1))
    with muster.checkpoint(path) as file:
        file.write(json.dumps({"at": loader.state()}).encode())
"""


@functools.cache
def python_with_torch():
    """Returns a Python with torch. Debian's python3 may have it even if this one does not."""
    for python in (sys.executable, shutil.which("python3"), "/usr/bin/python3"):
        if python and subprocess.run([python, "-c", "import torch"], check=False,
                                     stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


needs_torch = unittest.skipUnless(
    python_with_torch(), "SKIPPED: PyTorch is missing; apt install python3-torch")


@needs_torch
class Resumes(LiveTest):
    CONFIG = {"virtual_gpus": 1, "cgroup": "none", "grace": "30s",
              "scheduler": {"policy": "srtf", "estimates": "user", "min_run": "0s"}}

    def alone(self):
        """Starts an uninterrupted run in a separate directory."""
        folder = tempfile.TemporaryDirectory(prefix="muster-torch-")
        self.addCleanup(folder.cleanup)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        process = subprocess.Popen([python_with_torch(), TRAIN, *map(str, WORDS)],
                                   cwd=folder.name, env={**kept, **ENVIRONMENT},
                                   stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, pathlib.Path(folder.name) / "rings.losses"

    def losses(self):
        path = self.daemon.work / "rings.losses"
        return path.read_text().splitlines() if path.exists() else []

    def train(self):
        return self.post_job([python_with_torch(), str(TRAIN), *map(str, WORDS)], env=ENVIRONMENT,
                             estimate="1h")

    def stopped_at(self, job, lease):
        """Returns the step at which a lease stopped in the middle of an epoch, from its output.
        The output has no other lines: no worker reported the signal as an error."""
        said = self.output(job, lease)
        self.assertRegex(said, r"^(done: epoch \d+, step \d+\n)*stopped in epoch \d+, step \d+\n$")
        step = int(said.split()[-1])
        self.assertNotEqual(step % EPOCH, 0)
        return step

    def test_the_losses_are_those_of_a_run_that_was_not_stopped(self):
        process, expected = self.alone()
        job = self.train()
        until("it is in its first epoch", lambda: len(self.losses()) >= 5)
        self.daemon.post(f"/v1/jobs/{job}/hold")
        self.wait_state(job, "held")
        self.assertEqual(len(self.losses()), self.stopped_at(job, 1))
        self.daemon.post(f"/v1/jobs/{job}/release")
        until("it is in its second epoch", lambda: len(self.losses()) >= EPOCH + 5)
        self.wait_over(self.post_job(["true"], estimate="1s"))  # It preempts the other job.
        self.assertGreater(self.stopped_at(job, 2), EPOCH)
        done = self.wait_over(job)
        self.assertEqual([lease["state"] for lease in done["leases"]],
                         ["stopped", "stopped", "finished"])
        self.assertIn("preempted", self.kinds(job))
        self.assertEqual(process.wait(live_daemon.PATIENCE), 0)
        whole = expected.read_text().splitlines()
        self.assertEqual(len(whole), EPOCHS * EPOCH)
        self.assertEqual(self.losses(), whole)
        self.assertEqual(done["progress"]["step"], EPOCHS * EPOCH)


@needs_torch
class Ranks(LiveTest):
    CONFIG = {"virtual_gpus": 2, "cgroup": "none", "grace": "30s"}

    def steps(self):
        return [json.loads((self.daemon.work / f"rank{rank}").read_text())["at"]["step"]
                for rank in (0, 1)]

    def test_all_stop_at_the_same_step(self):
        job = self.post_job([python_with_torch(), "-c", RANKS], env=ENVIRONMENT, gpus=2,
                            launch_per="gpu")
        until("they train", lambda: self.daemon.job(job).get("progress", {}).get("step", 0) > 3)
        self.daemon.post(f"/v1/jobs/{job}/hold")
        self.wait_state(job, "held")
        first, second = self.steps()
        self.assertEqual(first, second)
        self.assertIn(first, range(4, 300))
        self.daemon.post(f"/v1/jobs/{job}/release")
        self.wait_over(job)
        self.assertEqual(self.steps(), [300, 300])


if __name__ == "__main__":
    live_daemon.main(__doc__)
