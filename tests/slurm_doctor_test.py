#!/usr/bin/env python3
"""muster doctor with a real Slurm with fake nodes: a good site, and sites with problems.

    slurm_doctor_test.py MUSTER TRAINER [unittest's options]
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

BED = pathlib.Path(__file__).parents[1] / "tools" / "slurm-testbed"
MUSTER = ""
WHY_NOT = subprocess.run([BED, "check"], capture_output=True, text=True, check=False).stderr.strip()


def bed(*words):
    done = subprocess.run([BED, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"slurm-testbed {words}: {done.stderr}")
    return done.stdout


@contextlib.contextmanager
def slurm(*options):
    """Provides the SLURM_CONF of a testbed."""
    with tempfile.TemporaryDirectory(prefix="muster-bed-") as scratch:
        os.chmod(scratch, 0o755)
        directory = f"{scratch}/bed"
        bed("up", "--dir", directory, *options)
        try:
            yield Site(directory)
        finally:
            bed("down", "--dir", directory)


class Site:
    def __init__(self, directory):
        self.dir = directory
        self.env = {**os.environ, "SLURM_CONF": f"{directory}/slurm.conf"}

    def scontrol(self, *words):
        subprocess.run(["scontrol", *words], env=self.env, check=True, capture_output=True)

    def doctor(self, *words, timeout=60):
        return subprocess.run([MUSTER, "doctor", *words], env=self.env, text=True,
                              capture_output=True, timeout=timeout, check=False)

    def checks(self, *words):
        """Returns level and text of each check by name, and the exit status."""
        done = self.doctor("--json", *words)
        answer = json.loads(done.stdout)
        if answer["ok"] != (done.returncode == 0):
            raise AssertionError(f"status {done.returncode}: {done.stdout}")
        return {c["check"]: (c["level"], c["words"]) for c in answer["checks"]}, done.returncode


@unittest.skipIf(WHY_NOT, f"SKIPPED: Slurm: {WHY_NOT}")
class Doctor(unittest.TestCase):
    def expect(self, checks, check, level, words):
        self.assertIn(check, checks)
        self.assertEqual(checks[check][0], level, checks[check])
        self.assertIn(words, checks[check][1])

    def test_a_good_site(self):
        with slurm("--kill-wait", "30") as site, tempfile.TemporaryDirectory() as parent:
            os.chmod(parent, 0o755)
            home = f"{parent}/home"
            os.mkdir(home, 0o700)  # The manager makes it accessible to others when it starts.
            checks, status = site.checks("--deep", "--home", home, "--user", "nobody")
            self.assertEqual(status, 0, checks)
            self.expect(checks, "version", "ok", "Slurm 22.05")
            self.expect(checks, "controller", "ok", "responds in")
            self.expect(checks, "clock", "ok", "nodes: within 2 s")
            self.expect(checks, "partition", "ok", "'main' is up, 4 nodes")
            self.expect(checks, "GPUs", "ok", "32 on 4 nodes")
            self.expect(checks, "submit", "ok", "a job of 'nobody' with 1 CPU")
            self.expect(checks, "KillWait", "ok", "30 s")
            self.expect(checks, "start", "ok", "within about 0.8 s")
            self.expect(checks, "deep", "ok", "ran on 4 of 4 nodes")
            self.expect(checks, "home", "ok", "accessible for 'nobody' on all 4 tested nodes")
            self.assertEqual(os.listdir(home), [])
            self.assertEqual(os.listdir(parent), ["home"])
            os.chmod(parent, 0o700)
            checks, status = site.checks("--deep", "--home", home, "--user", "nobody")
            self.assertEqual(status, 1)
            self.expect(checks, "home", "fail", "not accessible for 'nobody' on 4 of 4 nodes")

            text = site.doctor("--home", home).stdout.splitlines()
            self.assertTrue(text[0].startswith("ok    commands"), text[0])
            self.assertTrue(text[-1].startswith("Muster can run on this Slurm; "), text[-1])
            self.expect(site.checks("--home", home)[0], "home", "warn", "looks local")

    def test_what_is_wrong_is_said(self):
        lines = ("PartitionName=closed Nodes=n1 State=DOWN",
                 "PartitionName=short Nodes=n2 MaxTime=60 AllowGroups=nogroup",
                 "PartitionName=whole Nodes=n2 OverSubscribe=EXCLUSIVE")
        with slurm("--nodes", "2", "--defaults", "--min-job-age", "5",
                   *(word for line in lines for word in ("--conf", line))) as site:
            checks, _ = site.checks("--partition", "mian")
            self.expect(checks, "partition", "fail", "did you mean 'main'?")
            checks, status = site.checks("--partition", "closed")
            self.assertEqual(status, 1)
            self.expect(checks, "partition", "fail", "'closed' is DOWN")
            config = pathlib.Path(site.dir, "muster.yaml")
            config.write_text("executor: slurm\nslurm: {partition: closed}\ngrace: 4s\n")
            checks, _ = site.checks("--config", str(config))
            self.expect(checks, "partition", "fail", "'closed' is DOWN")
            self.expect(checks, "KillWait", "ok", "grace of 4 s")
            checks, _ = site.checks("--config", str(config), "--partition", "main")
            self.expect(checks, "partition", "ok", "'main' is up")
            checks, _ = site.checks("--partition", "short")
            self.expect(checks, "MaxTime", "warn", "01:00:00")
            self.expect(checks, "AllowGroups", "warn", "nogroup")
            checks, _ = site.checks("--partition", "whole")
            self.expect(checks, "OverSubscribe", "fail", "whole nodes")
            checks, _ = site.checks("--reservation", "nosuch")
            self.expect(checks, "reservation", "fail", "nosuch")
            self.expect(checks, "submit", "fail", "reservation")
            site.scontrol("update", "nodename=n1", "state=drain", "reason=bad | fan\nhot")
            checks, status = site.checks()
            self.assertEqual(status, 0)
            self.expect(checks, "nodes", "warn",
                        "1 of 2 accept jobs; not: n1 (drained: bad | fan hot)")
            self.expect(checks, "start", "warn", "about 2.8 s")
            self.expect(checks, "MinJobAge", "warn", "5 s")
            self.expect(checks, "KillWait", "warn", "5 s")
            self.expect(checks, "TaskPlugin", "warn", "task/none")

    def test_no_gpus_and_then_no_controller(self):
        with slurm("--nodes", "1", "--gpus", "0") as site:
            checks, status = site.checks()
            self.assertEqual(status, 1)
            self.expect(checks, "GresTypes", "fail", "does not manage GPUs")
            self.expect(checks, "GPUs", "fail", "no node has GPUs")
            self.expect(checks, "submit", "ok", "would be accepted")
            bed("kill-ctld", "--dir", site.dir)
            begin = time.monotonic()
            checks, status = site.checks("--timeout", "2s")
            self.assertLess(time.monotonic() - begin, 30)
            self.assertEqual(status, 1)
            self.expect(checks, "controller", "fail", "check that slurmctld is running")
            bed("start-ctld", "--dir", site.dir)

    def test_no_slurm(self):
        with tempfile.TemporaryDirectory() as empty:
            env = {**os.environ, "PATH": empty}
            done = subprocess.run([MUSTER, "doctor"], env=env, text=True, capture_output=True,
                                  timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("sbatch: not found: "), done.stdout)
        self.assertEqual(done.stdout.count("\n"), 1)


if __name__ == "__main__":
    MUSTER = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
