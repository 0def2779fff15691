#!/usr/bin/env python3
"""Sweeps on a real Slurm (tools/slurm-testbed) give the same bytes as local ones, even with faults.

    tests/slurm_sweep_test.py MUSTER
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import slurm_bed

BED = slurm_bed.Bed(nodes=4)
BED.options += ["--conf=PartitionName=blind Nodes=n4",
                "--conf=PartitionName=seeing Nodes=n[1-3] Default=YES"]
CELLS = 12
GRID = """sim:
  trace: {trace}
  cluster: 8x4
  policy: [fifo, srtf]
  mechanism: [proportional, tune]
  round: 300s
  seed: 1-3
"""


def wait_for(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {seconds} s")


def tree(directory):
    return {str(path.relative_to(directory)): path.read_bytes()
            for path in sorted(directory.rglob("*")) if path.is_file()}


def setUpModule():
    BED.up()


def tearDownModule():
    BED.down()


class Sweeps(unittest.TestCase):
    muster = ""
    scratch = None  # Shared with the nodes; paths of traces in grids are relative to it.

    @classmethod
    def start(cls, out, *words, grid="grid.yaml", **environment):
        return subprocess.Popen(
            [cls.muster, "sweep", grid, "--out", out, *words], cwd=cls.scratch, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, **environment})

    def sweep(self, out, *words, status=0, **more):
        return self.finish(self.start(out, *words, **more), status)

    def finish(self, process, status=0):
        _, said = process.communicate(timeout=120)
        self.assertEqual(process.returncode, status, said)
        return said

    def on_slurm(self, out, *words, **more):
        return self.sweep(out, "--on", "slurm", *words, **more)

    def cells(self, out):
        return len(list((self.scratch / out).glob("cells/*.json")))

    def array(self, out):
        """Returns the id of the Slurm array of a sweep that has just begun."""
        def find():
            plans = [path.name for path in (self.scratch / out).glob("slurm/*")]
            for line in BED.run("squeue", "-h", "-o", "%F %k").splitlines():
                job, comment = line.split(maxsplit=1)
                if comment.removeprefix("muster-sweep:") in plans:
                    return job
            return None
        return wait_for("an array in the queue", find)

    def expect_same(self, out):
        self.assertEqual(tree(self.scratch / "here"), tree(self.scratch / out))
        self.assertFalse((self.scratch / out / "slurm").exists())

    @classmethod
    def setUpClass(cls):
        trace = ["trace", "generate", "--jobs", "600", "--rate", "20", "--out", "jobs.csv"]
        subprocess.run([cls.muster, *trace], check=True, capture_output=True, cwd=cls.scratch)
        (cls.scratch / "grid.yaml").write_text(GRID.format(trace="jobs.csv"))
        subprocess.run([cls.muster, "sweep", "grid.yaml", "--out", "here"], check=True,
                       capture_output=True, cwd=cls.scratch)
        # The sweeps with the longest waits run in parallel with the others.
        fakes = cls.scratch / "fakes"
        fakes.mkdir()
        (fakes / "scontrol").write_text("#!/bin/sh\nexec sleep 100\n")
        (fakes / "scontrol").chmod(0o755)
        cls.hangs = cls.start("hangs", "--on", "slurm", PATH=f"{fakes}:{os.environ['PATH']}")
        cls.blind = None
        if cls.blind_node("n4"):
            cls.blind = cls.start("blind", "--on", "slurm", "--partition", "blind")

    @classmethod
    def tearDownClass(cls):
        for process in filter(None, (cls.hangs, cls.blind)):
            process.kill()  # If their tests were not selected.
            process.communicate()

    @classmethod
    def blind_node(cls, node):
        """Hides the directory of the sweeps from a node. Returns False if that is not possible."""
        BED.tool("kill-slurmd", node)
        hide = f"mount -t tmpfs none '{cls.scratch}' && exec slurmd -N {node}"
        hidden = subprocess.run(
            ["unshare", "--mount", "sh", "-c", hide], capture_output=True,
            env={**os.environ, "MUSTER_SLURM_TESTBED": BED.directory,
                 "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
        return hidden.returncode == 0

    def test_the_same_bytes_as_here(self):
        said = self.on_slurm("plain")
        self.assertIn(f"{CELLS} cells in {CELLS} tasks", said)
        self.expect_same("plain")
        self.assertIn(f"{CELLS} of {CELLS} cells were already finished", self.on_slurm("plain"))

    def test_slices_with_several_threads(self):
        said = self.on_slurm("slices", "--partition", "seeing", "--threads", "5",
                             "--jobs-at-once", "2", "--mem", "1G", "--time-limit", "10m")
        self.assertIn(f"{CELLS} cells in 3 tasks", said)
        self.expect_same("slices")

    def test_killed_and_gone_on_with(self):
        process = self.start("killed", "--on", "slurm", "--jobs-at-once", "3")
        wait_for("some cells", lambda: self.cells("killed") >= 2)
        array = self.array("killed")
        process.kill()
        process.communicate()
        said = self.on_slurm("killed")
        self.assertIn(f"Slurm array {array} of an earlier run is still active", said)
        self.assertNotIn("cells in", said, "submitted twice")
        self.expect_same("killed")

    def test_ctrl_c_cancels_the_array(self):
        process = self.start("stopped", "--on", "slurm", "--jobs-at-once", "1")
        wait_for("some cells", lambda: self.cells("stopped") >= 2)
        array = self.array("stopped")
        process.send_signal(signal.SIGINT)
        said = self.finish(process, status=130)
        self.assertIn(f"Slurm array {array} is cancelled", said)
        done = int(re.search(rf"interrupted with (\d+) of {CELLS} cells finished", said)[1])
        self.assertTrue(2 <= done < CELLS, said)
        wait_for("the array's end", lambda: array not in BED.run("squeue", "-h", "-o", "%F"))
        self.assertIn(f"of {CELLS} cells were already finished", self.on_slurm("stopped"))
        self.expect_same("stopped")

    def test_tasks_that_are_lost_are_submitted_again(self):
        process = self.start("lost", "--on", "slurm", "--jobs-at-once", "3")
        array = self.array("lost")
        BED.run("scancel", f"{array}_[11-12]")
        said = self.finish(process)
        self.assertIn("2 cells not finished yet", said)
        self.assertIn("2 cells in 2 tasks", said)
        self.expect_same("lost")

    def test_a_broken_input_is_told_as_here(self):
        (self.scratch / "broken.csv").write_text("job_id,submit_s,gpus,duration_s\n1,0,x,5\n")
        (self.scratch / "broken.yaml").write_text(GRID.format(trace="[jobs.csv, broken.csv]"))
        here = self.sweep("broken-here", "--threads", "1", grid="broken.yaml", status=1)
        said = self.on_slurm("broken", grid="broken.yaml", status=1)
        words = re.compile(r"cell \d+: broken.csv:2: gpus: not a whole number: 'x'")
        self.assertRegex(here, words)
        self.assertRegex(said.splitlines()[-1], words)

    def test_what_is_wrong_is_said_in_one_line(self):
        said = self.on_slurm("wrong", "--partition", "mian", status=2)
        self.assertEqual(said, "muster: --partition: unknown partition 'mian'; "
                               "did you mean 'main'?\n")
        said = self.on_slurm("wrong", "--account", "x", "--reservation", "none", status=1)
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn("muster: --on slurm: sbatch: ", said)
        said = self.on_slurm("wrong", PATH="/nowhere", status=1)
        self.assertEqual(said, "muster: --on slurm: scontrol: not found in PATH; "
                               "check that Slurm is installed here\n")

    def test_y_a_directory_that_nodes_do_not_see(self):
        if not self.blind:
            self.skipTest("no rights to hide a directory here")
        said = self.finish(self.blind, status=1).splitlines()[-1]
        self.assertIn(f"muster: {CELLS} of {CELLS} cells unfinished after 3 attempts in a row: "
                      "cells 1, 2, ", said)
        self.assertIn("ended as FAILED (JobLaunchFailure); ", said)
        self.assertIn("blind: check that all nodes share it", said)

    def test_z_a_submit_that_the_controller_forgets(self):
        # slurmctld is killed just after it acknowledged the array. It then reuses ids of earlier
        # jobs, whose tasks nodes may reject. So this must be the last test on the cluster.
        real = shutil.which("sbatch")
        fakes = self.scratch / "forgetful"
        fakes.mkdir()
        sbatch = fakes / "sbatch"
        sbatch.write_text(f"#!/bin/sh\necho >> {fakes}/calls\n{real} \"$@\" || exit\n"
                          f"[ $(wc -l < {fakes}/calls) -gt 1 ] || "
                          f"kill -9 $(cat {BED.directory}/slurmctld.pid)\n")
        sbatch.chmod(0o755)
        BED.run("scontrol", "update", "PartitionName=seeing", "State=DOWN")
        process = self.start("forgotten", "--on", "slurm", PATH=f"{fakes}:{os.environ['PATH']}")
        wait_for("the submit", (fakes / "calls").exists)
        wait_for("slurmctld's death",
                 lambda: BED.tool("start-ctld", check=False).returncode == 0)
        up = ["scontrol", "update", "PartitionName=seeing", "State=UP"]
        wait_for("slurmctld", lambda: subprocess.run(up, capture_output=True).returncode == 0)
        said = self.finish(process)
        self.assertRegex(said, r"12 cells not finished yet; Slurm lost array \d+")
        self.expect_same("forgotten")

    def test_zz_a_controller_that_hangs(self):
        self.assertEqual(self.finish(self.hangs, status=1),
                         "muster: --on slurm: scontrol: no response within 20.0 s\n")


if __name__ == "__main__":
    Sweeps.muster = os.path.abspath(sys.argv.pop(1))
    with tempfile.TemporaryDirectory(prefix="muster-sweep-") as directory:
        Sweeps.scratch = pathlib.Path(directory)
        unittest.main(verbosity=2)
