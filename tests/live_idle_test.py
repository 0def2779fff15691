#!/usr/bin/env python3
"""What a live manager costs when nothing happens, and that many jobs leave nothing behind in it.

    tests/live_idle_test.py MUSTER TRAINER [TEST...]
"""

import os
import sys
import time

sys.dont_write_bytecode = True  # Nothing is left beside the sources.
import live_daemon  # noqa: E402
from live_daemon import LiveTest, proc, until  # noqa: E402

FIRST = 100
MORE = 3000 if os.environ.get("MUSTER_LONG") else 200


class Idle(LiveTest):
    CONFIG = {"virtual_gpus": 32, "progress_every": "2s"}

    def churn(self, count):
        """So many jobs from beginning to end; seconds a job."""
        began = time.monotonic()
        self.post_job("true", array=f"1-{count}")
        until(f"{count} jobs are over", lambda: self.daemon.get("/v1/jobs")["total"] == 0,
              timeout=60 + count / 5, every=0.2)
        return (time.monotonic() - began) / count

    def figures(self):
        """Files open and kB of memory, with no call under way."""
        until("the jobs' shims are gone, and buried", lambda: not self.children())
        time.sleep(0.5)
        open_files = len(os.listdir(f"/proc/{self.daemon.process.pid}/fd"))
        return open_files, self.daemon.status_of("VmRSS")

    def children(self):
        def parent(pid):
            fields = proc(pid, "stat").rpartition(b")")[2].split()
            return int(fields[1]) if fields else 0
        return [pid for pid in filter(str.isdigit, os.listdir("/proc"))
                if parent(pid) == self.daemon.process.pid]

    def share_of_a_cpu(self, seconds=5):
        before = self.daemon.cpu_seconds()
        time.sleep(seconds)
        return (self.daemon.cpu_seconds() - before) / seconds

    def test_churn_leaves_nothing_and_idling_costs_nothing(self):
        each = self.churn(FIRST)
        files, memory = self.figures()
        self.churn(MORE)
        files_after, memory_after = self.figures()
        done = self.daemon.get("/v1/jobs?state=done&limit=1000")["jobs"]
        self.assertEqual(len(done), min(FIRST + MORE, 1000))
        share = self.share_of_a_cpu()
        print(f"{FIRST} jobs at {1000 * each:.0f} ms each: {files} files, {memory} kB; "
              f"after {MORE} more: {files_after} files, {memory_after} kB; "
              f"idle: {100 * share:.2f}% of a core", file=sys.stderr)
        self.assertLessEqual(files_after, files)
        self.assertLess(memory_after - memory, 16 << 10)
        self.assertLess(share, 0.01)
        # Those that wait and those that run in silence cost next to nothing either.
        for _ in range(20):
            self.post_job("sleep 100", hold=True)
        quiet = [self.post_job("sleep 100") for _ in range(4)]
        for job in quiet:
            self.wait_state(job, "running")
        self.assertEqual(len(self.children()), 4)
        share = self.share_of_a_cpu(3)
        print(f"with 4 jobs running and 20 held: {100 * share:.2f}% of a core", file=sys.stderr)
        self.assertLess(share, 0.02)


if __name__ == "__main__":
    live_daemon.main(__doc__)
