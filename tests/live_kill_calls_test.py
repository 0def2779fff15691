#!/usr/bin/env python3
"""The live manager and its shims, killed at selected system calls, and failing disk operations. All
acknowledged jobs must exist afterwards, exactly once. muster-invariants checks the result.

    tests/live_kill_calls_test.py MUSTER INVARIANTS [TEST...]

With MUSTER_LONG=1 it tests each call of each kind.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_kill  # noqa: E402
from live_home import OVER, NotThere  # noqa: E402
from live_kill import LONG, KillTest  # noqa: E402


class Tracer:
    """Runs strace on a running daemon to inject a fault into a system call of its threads. Calls
    are counted from now on and per thread. `follow` includes new shims and jobs."""

    def __init__(self, home, what, follow=False):
        call = what.split(":")[0]
        threads = sorted(map(int, os.listdir(f"/proc/{home.daemon.pid}/task")))
        words = ["strace", "-f"] if follow else ["strace"]
        for thread in threads:
            words += ["-p", str(thread)]
        words += ["-o", home.base / "strace", "-e", f"trace={call}", "-e", f"inject={what}"]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        for _ in threads[:1] if follow else threads:  # strace prints a line for each thread.
            self.process.stderr.readline()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # strace detaches.
        try:
            self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:  # It waits for a thread that never stops. The kernel also
            self.process.kill()            # detaches threads when strace is killed.
            self.process.communicate()


@unittest.skipUnless(shutil.which("strace"), "strace is not installed")
class SystemCalls(KillTest):
    def killed_at(self, home, call, number, follow=False):
        """Submits a job with SIGKILL at this call. Returns whether a process was killed."""
        key = f"{call}-{number}-{follow}"
        tracer = Tracer(home, f"{call}:signal=KILL:when={number}", follow)
        job = None
        hit = False
        try:
            job = home.submit_once(key, 1, retries=0)[1]["id"]
            until = time.monotonic() + 240
            while not hit:
                self.assertLess(time.monotonic(), until, home.said())
                seen = home.job(job)
                hit = seen.get("leases_used", 0) > 1  # Its first shim died.
                if seen.get("state") in OVER:
                    break
                time.sleep(0.01)
        except NotThere:
            self.assertEqual(home.daemon.wait(120), -signal.SIGKILL, home.said())
            hit = True
        tracer.end()
        if home.daemon.poll() is not None:
            home.kill()
            home.check()
            home.start()
        again = home.submit(key, 1, retries=0)
        self.assertIn(job, (None, again))
        done = home.wait_for(again, OVER)
        ends = home.runs.read_text().count(f"end {again} ")
        if done["leases_used"] > 3:  # The test was slow, and the manager gave up the job.
            self.assertTrue(follow, done)
            self.assertIn("lost repeatedly", done["why"])
        elif "SIGKILL" in done.get("why", ""):  # The job was killed, not the shim.
            self.assertTrue(follow, done)
        elif follow:  # If a shim is killed after the last line of its job, the job is repeated.
            self.assertEqual(done["state"], "done", done)
            self.assertTrue(1 <= ends <= done["leases_used"], (key, done))
        else:
            self.assertEqual(done["state"], "done", done)
            self.assertEqual((ends, done["leases_used"]), (1, 1), (key, done))
        return hit

    def step_through(self, calls, follow):
        home = self.home()
        home.start()
        hits = tries = 0
        for call, numbers in calls.items():
            for number in range(1, 1000) if LONG else numbers:
                hit = self.killed_at(home, call, number, follow)
                tries, hits = tries + 1, hits + hit
                if not hit:
                    break
        self.assertGreaterEqual(2 * hits, tries, "hardly anything was killed")
        self.finish(home)

    def test_daemon_killed_at_each(self):
        self.step_through({
            "pwrite64": [1, 8, 22, 41], "fdatasync": [1, 2, 3], "mkdir": [1], "openat": [3],
            "fsync": [1, 3], "renameat": [1], "clone3": [1], "pidfd_open": [1], "write": [1],
            "sendto": [1], "ftruncate": [], "pipe2": [], "epoll_ctl": [], "close": [], "read": [],
            "futex": [], "newfstatat": [], "recvfrom": [], "accept4": [], "waitid": [],
            "timerfd_settime": [], "fcntl": []}, follow=False)

    def test_killed_while_it_starts(self):
        home = self.home()
        home.start()
        go = home.base / "go"
        jobs = [home.submit(f"runs-{n}", 40, gpus=1 + n % 2, wait_for="" if n else go)
                for n in range(3)]
        jobs.append(home.submit("waits", 1))
        home.wait_for(jobs[0], ["running"])
        home.kill()
        for call, step in {"pwrite64": 4, "openat": 29, "fdatasync": 1, "sendto": 1}.items():
            number = 1
            while True:
                home.spawn(["strace", "-f", "-o", home.base / "strace", "-e", f"trace={call}",
                            "-e", f"inject={call}:signal=KILL:when={number}"])
                until = time.monotonic() + 120
                while home.daemon.poll() is None and not home.serves():
                    self.assertLess(time.monotonic(), until, home.said())
                    time.sleep(0.02)
                through = home.daemon.poll() is None
                home.kill()
                home.check()
                if through:
                    break
                number += 1 if LONG else step
        home.start()
        go.touch()
        self.finish(home, undisturbed=jobs)

    def test_shims_killed_at_each(self):
        self.step_through({
            "flock": [1], "fallocate": [1], "execve": [1], "prctl": [1], "renameat": [2],
            "exit_group": [1], "bind": [], "setsid": [], "unlinkat": [], "fsync": [],
            "clone": [], "getrusage": []}, follow=True)

    def test_a_disk_that_fails(self):
        for call in ("fdatasync", "pwrite64"):
            home = self.home()
            home.start()
            home.submit("before", 1)
            tracer = Tracer(home, f"{call}:error=EIO:when=1+")
            try:
                status, body = home.submit_once("during", 1)
                self.assertEqual(status, 503, body)
            except NotThere:
                pass
            self.assertGreater(home.daemon.wait(120), 0, home.said())
            self.assertIn("disk", home.said())
            tracer.end()
            home.kill()
            home.check()
            home.start()
            home.submit("during", 1)
            self.finish(home)

    def test_records_that_cannot_be_synced(self):
        home = self.home()
        home.start()
        tracer = Tracer(home, "fsync:error=EIO:when=1+")
        job = home.submit("during", 1)
        home.wait_for(job, ["starting"])
        time.sleep(1.5)  # The job must stay in this state.
        self.assertEqual(home.job(job)["state"], "starting", home.said())
        tracer.end()
        self.assertEqual(home.wait_for(job, ["done"])["leases_used"], 1)
        self.finish(home)


if __name__ == "__main__":
    live_kill.main()
