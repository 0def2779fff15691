#!/usr/bin/env python3
"""Jobs that try to escape their time limit or to forge the records of leases. The numbers are those
of the attacks in docs/adr/0032-time-limits-and-lease-tokens.md. Each case runs a hostile job and
checks the result from outside. The jobs have no control groups, because they must not be necessary.

In personal mode, all jobs have the account of the manager. A job can therefore change every file of
the state directory, its own record and those of other jobs included (attack 25), and it can kill
shims and the manager. Only a separate account per user prevents that. The cases below show what
holds in personal mode anyway.

    tests/escape_test.py MUSTER TRAINER [TEST...]
"""

import json
import os
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import LiveTest, proc, until  # noqa: E402

LIMIT, GRACE = 1, 1
SHIM_PATIENCE = 5   # A job ends this long after limit and grace period if its shim runs ...
MAX_OVERTIME = 60   # ... and this long if its shim is stopped.
POLL = 5            # For the test: a busy machine notices an end late.
LONG = os.environ.get("MUSTER_LONG") == "1"


def alive(pid):
    stat = proc(pid, "stat")
    return bool(stat) and b") Z " not in stat


class Escape(LiveTest):
    CONFIG = {"nodes": [{"name": "one", "gpus": 1, "cpus": 1, "mem": 1}], "cgroup": "none",
              "grace": f"{GRACE}s"}

    def attack(self, script, limit=f"{LIMIT}s"):
        """Starts the script on the only GPU. Returns the job and the process that it names."""
        words = ["--gpus", "1", *(["--time-limit", limit] if limit else []), "--", "sh", "-c", script]
        job = self.submit(*words)
        self.wait_state(job, "running")
        pid_file = self.daemon.work / "pid"
        until("the job names its process", lambda: pid_file.exists() and
              pid_file.read_text().endswith("\n"))
        return job, int(pid_file.read_text())

    def started_at(self, lease):
        return json.loads(self.daemon.record(lease, "started.json").read_text())["boot_us"] / 1e6

    def expect_over(self, job, pid, within, state="failed"):
        """The job ends in time, its process is gone, and the GPU is free for the next job."""
        lease = f"j{job}.e1"
        self.wait_over(job, state)
        ran = time.clock_gettime(time.CLOCK_BOOTTIME) - self.started_at(lease)
        self.assertLess(ran, within)
        self.assertFalse(alive(pid))
        self.wait_over(self.submit("--gpus", "1", "--", "true"))
        self.assertEqual(self.daemon.processes(), [])

    def shim_of(self, job):
        return self.daemon.shims()[f"j{job}.e1"]

    def test_09_ignores_sigterm_past_the_limit(self):
        job, pid = self.attack("trap '' TERM; echo $$ >pid; while :; do sleep 0.1; done")
        self.expect_over(job, pid, LIMIT + GRACE + SHIM_PATIENCE + POLL)
        self.assertIn("time limit", self.daemon.job(job)["why"])

    def test_10_stops_itself(self):
        job, pid = self.attack("echo $$ >pid; kill -STOP $$; sleep 1000")
        self.expect_over(job, pid, LIMIT + GRACE + SHIM_PATIENCE + POLL)

    def test_11_leaves_its_session_and_clears_its_environment(self):
        job, pid = self.attack(
            "(setsid env -i sh -c 'trap \"\" TERM; echo $$ >pid; exec sleep 1000' &); sleep 1000")
        self.expect_over(job, pid, LIMIT + GRACE + SHIM_PATIENCE + POLL)

    HIDDEN = "(setsid env -i sh -c 'echo $$ >pid; exec sleep 1000' &); sleep 1000"

    def test_06_stops_its_shim_and_is_cancelled(self):
        job, pid = self.attack(self.HIDDEN, limit=None)
        os.kill(self.shim_of(job), signal.SIGSTOP)
        self.daemon.muster("cancel", job)
        self.expect_over(job, pid, MAX_OVERTIME, "cancelled")

    @unittest.skipUnless(LONG, "takes a minute: MUSTER_LONG=1; in short in live_lease_test")
    def test_06_stops_its_shim_past_the_limit(self):
        job, pid = self.attack(self.HIDDEN)
        os.kill(self.shim_of(job), signal.SIGSTOP)
        self.expect_over(job, pid, LIMIT + GRACE + MAX_OVERTIME + POLL)
        self.assertIn("time limit", self.daemon.job(job)["why"])

    @unittest.skipUnless(LONG, "takes a minute: MUSTER_LONG=1; in short in live_lease_test")
    def test_06_stops_its_shim_past_the_limit_while_the_manager_restarts(self):
        job, pid = self.attack(self.HIDDEN)
        os.kill(self.shim_of(job), signal.SIGSTOP)
        self.daemon.kill()
        self.daemon.start()
        self.expect_over(job, pid, LIMIT + GRACE + MAX_OVERTIME + POLL)

    def test_25_a_forged_report_does_not_end_a_lease_that_runs(self):
        # A job can forge its own report. While its shim runs, the manager does not
        # read it, and the shim replaces it. After the job has killed its shim, it would count.
        job, pid = self.attack("echo $$ >pid; sleep 1000", limit=None)
        record = self.daemon.record(f"j{job}.e1", "exit.json")
        spec = json.loads(self.daemon.record(f"j{job}.e1", "spec.json").read_text())
        record.write_text(json.dumps({"token": spec["token"], "cause": "finished"}))
        time.sleep(0.5)
        self.assertEqual(self.daemon.job(job)["state"], "running")
        self.daemon.muster("cancel", job)
        self.expect_over(job, pid, MAX_OVERTIME, "cancelled")
        self.assertEqual(json.loads(record.read_text())["cause"], "stopped")

    def test_26_a_job_has_no_token(self):
        job, pid = self.attack("echo $$ >pid; sleep 1000", limit=None)
        spec = json.loads(self.daemon.record(f"j{job}.e1", "spec.json").read_text())
        self.assertNotEqual(spec["token"], spec["mark"])
        self.assertIn(b"MUSTER_LEASE=" + spec["mark"].encode(), proc(pid, "environ"))
        for process in (pid, self.shim_of(job), self.daemon.process.pid):
            for name in ("environ", "cmdline", "cgroup"):
                self.assertNotIn(spec["token"].encode(), proc(process, name), name)
        self.assertEqual((self.daemon.home / "lease.key").stat().st_mode & 0o777, 0o600)

    def test_26_a_lease_keeps_the_token_of_its_record(self):
        # As after an upgrade: the manager would compute another token now.
        job, pid = self.attack("echo $$ >pid; while [ ! -e go ]; do sleep 0.05; done", limit=None)
        self.daemon.kill()
        (self.daemon.home / "lease.key").unlink()
        self.daemon.start()
        self.wait_state(job, "running")
        self.assertTrue(alive(pid))
        self.go()
        self.wait_over(job)

    def test_27_a_record_that_a_job_created_starts_nothing(self):
        # The name of the next lease is known. A record with its name and another spec is refused.
        job, pid = self.attack("echo $$ >pid; sleep 1000", limit=None)
        spec = json.loads(self.daemon.record(f"j{job}.e1", "spec.json").read_text())
        forged = self.daemon.record(f"j{job + 1}.e1", "")
        forged.mkdir()
        spec.update(job=job + 1, argv=["touch", str(self.daemon.work / "forged")])
        (forged / "spec.json").write_text(json.dumps(spec))
        next_job = self.submit("--gpus", "1", "--", "true")
        self.daemon.muster("cancel", job)
        self.wait_over(job, "cancelled")
        until("the order is refused",
              lambda: f"j{next_job}.e1: start failed, will retry" in self.daemon.log())
        self.assertFalse((self.daemon.work / "forged").exists())
        (forged / "spec.json").unlink()
        forged.rmdir()
        self.wait_over(next_job)


if __name__ == "__main__":
    live_daemon.main(__doc__)
