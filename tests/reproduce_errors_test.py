#!/usr/bin/env python3
"""Checks what `muster reproduce` reports for mistakes, failed commands and Ctrl-C.

    tests/reproduce_errors_test.py MUSTER
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

EXPERIMENT = """
- name: mine
  paper: example
  title: An experiment
  needs: [jobs.csv]
  runs:
    fifo: sim --trace {data}/jobs.csv --policy fifo
    srtf: sim --trace {data}/jobs.csv --policy srtf
  claims:
    - {claim: gain, source: ours, value: fifo.jct_mean_s / srtf.jct_mean_s, at_least: 1}
"""
JOBS = "job_id,submit_s,gpus,duration_s\na,0,1,100\n"


class ReproduceErrors(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)
        (self.dir / "jobs.csv").write_text(JOBS)

    def reproduce(self, *words, experiment=EXPERIMENT):
        (self.dir / "mine.yaml").write_text(experiment)
        return subprocess.run([MUSTER, "reproduce", *words, "--data", "."], cwd=self.dir,
                              capture_output=True, text=True, timeout=120)

    def expect(self, done, status, *texts):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        for text in texts:
            self.assertIn(text, done.stdout + done.stderr)

    def test_a_valid_experiment_is_reproduced(self):
        self.expect(self.reproduce("mine.yaml"), 0, "1 claims reproduced")

    def test_unknown_names_get_a_suggestion(self):
        self.expect(self.reproduce("synergi"), 2, "did you mean 'synergy'?")
        self.expect(self.reproduce("none.yaml"), 2, "none.yaml: no such file")

    def test_out_must_be_a_directory(self):
        self.expect(self.reproduce("mine.yaml", "--out", "jobs.csv"), 1, "jobs.csv: not a directory")

    def test_a_missing_data_file_is_named_with_its_directory(self):
        (self.dir / "jobs.csv").unlink()
        self.expect(self.reproduce("mine.yaml"), 0, f"jobs.csv is not in {self.dir}", "1 not run")

    def test_mistakes_are_found_before_anything_runs(self):
        for old, new, place, what in [
                ("at_least", "atleast", "mine.yaml:10:", "did you mean 'at_least'?"),
                ("value: fifo", "value: fido", "mine.yaml:10:", "unknown run 'fido'; did you mean"),
                ("fifo: sim", "fifo: simm", "mine.yaml:7:", "did you mean 'sim'?"),
                ("fifo\n", "fifo --out /tmp/x\n", "mine.yaml:7:", "--out: must be a path in {dir}/"),
                ("fifo\n", "fifo;ls\n", "mine.yaml:7:", "must not contain ';'")]:
            with self.subTest(new):
                done = self.reproduce("mine.yaml", "--out", "out",
                                      experiment=EXPERIMENT.replace(old, new, 1))
                self.expect(done, 2, place, what)
                self.assertFalse((self.dir / "out").exists())

    def test_a_wrong_member_gets_a_suggestion(self):
        wrong = EXPERIMENT.replace("fifo.jct_mean_s", "fifo.jct_meen_s")
        self.expect(self.reproduce("mine.yaml", experiment=wrong), 1, "did you mean 'jct_mean_s'")

    def test_two_experiments_with_one_name_are_an_error(self):
        same = EXPERIMENT.replace("name: mine", "name: tiresias-example")
        self.expect(self.reproduce("tiresias-example", "mine.yaml", experiment=same), 2,
                    "two chosen experiments have the name 'tiresias-example'")

    def test_a_failed_command_ends_only_its_experiment(self):
        (self.dir / "jobs.csv").write_text("no trace\n")
        self.expect(self.reproduce("mine.yaml", "tiresias-example"), 1,
                    "3 claims reproduced", "1 not run", "--policy fifo --json: failed. muster:",
                    "jobs.csv")

    def test_ctrl_c_ends_the_commands_too(self):
        slow = EXPERIMENT.replace("  runs:", "  prepare:\n    - trace generate --kind philly-like "
                                  "--jobs 5000000 --out {dir}/big.csv\n  runs:")
        (self.dir / "mine.yaml").write_text(slow)
        run = subprocess.Popen([MUSTER, "reproduce", "mine.yaml", "--data", ".", "--out", "out"],
                               cwd=self.dir, start_new_session=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
        log = self.dir / "out" / "mine" / "prepare-1.log"
        deadline = time.monotonic() + 60
        while not log.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(run.pid, signal.SIGINT)
        output, _ = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130, output)
        with self.assertRaises(ProcessLookupError):
            os.killpg(run.pid, 0)


if __name__ == "__main__":
    MUSTER = os.path.abspath(sys.argv.pop(1))
    unittest.main()
