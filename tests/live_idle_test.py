#!/usr/bin/env python3
"""The cost of a live manager without activity, and a check for leaks after many jobs.

    tests/live_idle_test.py MUSTER TRAINER [TEST...]
"""

import os
import sqlite3
import sys
import time
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import LiveTest, proc, sanitized, until  # noqa: E402

LONG = os.environ.get("MUSTER_LONG") == "1"
FIRST = 100
MORE = 3000 if LONG else 200
PAST = 10_000
MOST_KB = 50 << 10  # Resident memory in kB with PAST finished jobs.


class Idle(LiveTest):
    CONFIG = {"virtual_gpus": 32, "progress_every": "2s"}

    def churn(self, count):
        """Runs `count` jobs and returns the seconds per job."""
        began = time.monotonic()
        self.post_job("true", array=f"1-{count}")
        until(f"{count} jobs are over", lambda: self.daemon.get("/v1/jobs")["total"] == 0,
              timeout=120 + count, every=0.2)
        return (time.monotonic() - began) / count

    def figures(self):
        """Returns the number of open files and kB of memory, without active calls."""
        until("the jobs' shims are gone, and buried", lambda: not self.children())
        looks = []

        def settled():
            looks.append(len(os.listdir(f"/proc/{self.daemon.process.pid}/fd")))
            return len(looks) > 4 and len(set(looks[-5:])) == 1
        until(lambda: f"as many files are open as before: {looks}", settled, every=0.2)
        return looks[-1], self.daemon.status_of("VmRSS")

    def children(self):
        def parent(pid):
            fields = proc(pid, "stat").rpartition(b")")[2].split()
            return int(fields[1]) if fields else 0
        return [pid for pid in filter(str.isdigit, os.listdir("/proc"))
                if parent(pid) == self.daemon.process.pid]

    def share_of_a_cpu(self, most, seconds=5):
        """Returns the CPU share. Repeats the measurement, because only a permanent cost counts."""
        for _ in range(4):
            before, began = self.daemon.cpu_seconds(), time.monotonic()
            time.sleep(seconds)
            share = (self.daemon.cpu_seconds() - before) / (time.monotonic() - began)
            if share < most:
                break
        return share

    def test_churn_leaves_nothing_and_idling_costs_nothing(self):
        each = self.churn(FIRST)
        files, memory = self.figures()
        self.churn(MORE)
        files_after, memory_after = self.figures()
        done = self.daemon.get("/v1/jobs?state=done&limit=1000")["jobs"]
        self.assertEqual(len(done), min(FIRST + MORE, 1000))
        share = self.share_of_a_cpu(0.01)
        print(f"{FIRST} jobs at {1000 * each:.0f} ms each: {files} files, {memory} kB; "
              f"after {MORE} more: {files_after} files, {memory_after} kB; "
              f"idle: {100 * share:.2f}% of a core", file=sys.stderr)
        self.assertLessEqual(files_after, files)
        self.assertLess(memory_after - memory, 16 << 10)
        self.assertLess(share, 0.01)
        # Waiting jobs, and running jobs without output, cost almost nothing.
        for _ in range(20):
            self.post_job("sleep 600", hold=True)
        quiet = [self.post_job("sleep 600") for _ in range(4)]
        for job in quiet:
            self.wait_state(job, "running")
        self.assertEqual(len(self.children()), 4)
        share = self.share_of_a_cpu(0.02, 3)
        print(f"with 4 jobs running and 20 held: {100 * share:.2f}% of a core", file=sys.stderr)
        self.assertLess(share, 0.02)

    def multiply(self, job, count):
        """Adds `count` finished jobs to the database of a stopped manager: copies of `job`, which
        is its last job."""
        with sqlite3.connect(self.daemon.home / "journal.db") as database:
            for table, number in (("jobs", "id"), ("attempts", "job")):
                rest = ", ".join(row[1] for row in database.execute(f"PRAGMA table_info({table})")
                                 if row[1] != number)
                database.execute(
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
                    f"INSERT INTO {table} ({number}, {rest}) "
                    f"SELECT ? + i, {rest} FROM {table}, n WHERE {number} = ?",
                    (count - 1, job, job))
            database.execute("UPDATE meta SET value = ? WHERE name = 'next_id'", (job + count,))
        database.close()

    def check_memory(self, what):
        for path in ("/v1/jobs?state=all&limit=1000", "/v1/jobs?state=done&limit=1000&offset=9000",
                     "/v1/events?limit=1000", "/v1/jobs/77"):
            self.daemon.get(path)
        _, memory = self.figures()
        print(f"{what}: {memory} kB", file=sys.stderr)
        if not sanitized():
            self.assertLess(memory, MOST_KB)

    def test_a_long_past_takes_little_memory(self):
        job = self.post_job("true")
        self.wait_over(job)
        self.daemon.stop()
        self.multiply(job, PAST)
        self.daemon.start()
        self.assertEqual(self.daemon.get("/v1/jobs?state=done&limit=1")["total"], PAST)
        self.assertEqual(self.post_job("true"), job + PAST)
        self.check_memory(f"{PAST} jobs in the past")

    @unittest.skipUnless(LONG, "takes minutes: only with MUSTER_LONG=1")
    def test_many_jobs_that_ran_take_little_memory(self):
        for _ in range(PAST // 500):
            each = self.churn(500)
        self.check_memory(f"{PAST} jobs, the last at {1000 * each:.0f} ms each")

    def test_a_long_queue_gives_its_memory_back(self):
        if self.daemon.status_of("VmSize") > 1 << 30:
            self.skipTest("a sanitizer has its own allocator, which keeps memory")
        before = self.daemon.status_of("VmRSS")
        first = self.post_job("true", hold=True, array="1-9000")
        peak = self.daemon.status_of("VmRSS")
        self.daemon.post(f"/v1/jobs/{first}_*/cancel")
        self.assertEqual(self.daemon.get("/v1/jobs")["total"], 0)
        after = self.daemon.status_of("VmRSS")
        print(f"9000 jobs held: from {before} to {peak} kB, then {after} kB", file=sys.stderr)
        self.assertLess(after - before, (peak - before) / 2)


if __name__ == "__main__":
    live_daemon.main(__doc__)
