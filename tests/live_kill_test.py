#!/usr/bin/env python3
"""The live manager, killed or without resources. All acknowledged jobs must exist afterwards,
exactly once, and no job may run twice at the same time. muster-invariants checks the result.
live_kill_calls_test.py kills it at selected system calls.

    tests/live_kill_test.py MUSTER INVARIANTS [TEST...]

With MUSTER_LONG=1 it runs much longer.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_kill  # noqa: E402
from live_home import CONFIG, NotThere  # noqa: E402
from live_kill import LONG, KillTest  # noqa: E402


class Crowd:
    """Clients that submit, cancel, hold and release jobs, also while there is no daemon."""

    def __init__(self, home, clients, seed):
        self.home = home
        self.over = threading.Event()
        self.wrong = []
        self.threads = [threading.Thread(target=self.run, args=(n, random.Random(seed * 100 + n)))
                        for n in range(clients)]
        for thread in self.threads:
            thread.start()

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def run(self, number, chance):
        try:
            mine = []
            while not self.over.is_set():
                self.act(number, chance, mine)
                while not self.over.is_set() and self.many():
                    time.sleep(0.1)
        except Exception as error:  # pylint: disable=broad-except
            self.wrong.append(error)

    def many(self):
        try:
            return len(self.home.active()) > 15
        except NotThere:
            return False

    def act(self, number, chance, mine):
        more = chance.choice([{}, {}, {}, {"hold": True}, {"prerun": "200ms"}, {"array": "0-2%2"},
                              {"retries": 0}, {"after_any": mine[-1:]}, {"launch_per": "gpu"}])
        job = self.home.submit(f"c{number}-{len(mine)}", chance.randint(1, 6), self.over,
                               gpus=chance.choice([1, 1, 2, 3]), **more)
        if job is None:
            return
        mine.append(job)
        dice = chance.random()
        verb = "cancel" if dice < 0.1 else "hold" if dice < 0.2 else "release" if dice < 0.3 else ""
        if not verb:
            return
        other = chance.choice(mine[-6:])
        try:
            self.home.ask("POST", f"/v1/jobs/{other}/{verb}")
        except NotThere:
            pass  # The command may have been executed or not.


class Daemon(KillTest):
    def test_killed_at_random(self):
        seed = random.randrange(1 << 32) if LONG else 7
        print(f"seed {seed}", flush=True)
        home, chance = self.home(), random.Random(seed)
        crowd = Crowd(home, 3, chance.randrange(1000))
        self.addCleanup(crowd.over.set)
        for number in range(100 if LONG else 8):
            if number % 4 == 3:  # During recovery.
                home.spawn()
                time.sleep(chance.random() * 0.3)
            else:
                home.start()
                time.sleep(0.1 + chance.random())
            if number % 4 == 1:  # During shutdown.
                home.daemon.terminate()
                time.sleep(chance.random() * 0.05)
            home.kill()
            home.check()
        home.start()
        crowd.end()
        self.assertEqual(crowd.wrong, [])
        for job in home.active():
            if job["state"] == "held":
                home.ask("POST", f"/v1/jobs/{job['id']}/release")
        self.finish(home)


class Shims(KillTest):
    def test_killed(self):
        home, chance = self.home(), random.Random(3)
        home.start()
        go = home.base / "go"  # Until then there is always a shim to kill.
        jobs = [home.submit(f"k{n}", 6, gpus=1 + n % 2, wait_for=go if n % 2 else "")
                for n in range(60 if LONG else 6)]
        killed = 0
        until = time.monotonic() + (600 if LONG else 240)
        while killed < len(jobs) and home.active() and time.monotonic() < until:
            time.sleep(chance.random() * 0.3)
            shims = home.shims()
            if not shims:
                continue
            try:
                os.kill(chance.choice(sorted(shims.values())), signal.SIGKILL)
            except ProcessLookupError:  # It has already ended.
                continue
            killed += 1
            if killed % 3 == 0:  # While no manager runs.
                home.kill()
                home.check()
                home.start()
        go.touch()
        home.wait_until_idle()
        states = [home.job(job) for job in jobs]
        self.assertGreater(sum(job["leases_used"] for job in states), len(jobs))
        # The manager gives up a job that is lost repeatedly.
        for job in states:
            self.assertTrue(job["state"] == "done" or job["leases_used"] > 3, job)
        self.finish(home)

    def frozen(self, home, key):
        """Returns a job whose shim is frozen."""
        job = home.submit(key, 1, wait_for=home.base / "go")
        home.wait_for(job, ["running"])
        os.kill(home.shims()[f"j{job}.e1"], signal.SIGSTOP)
        return job

    def slowest_while_cancelled(self, home, job):
        """Returns the maximum response time of other calls in seconds."""
        self.assertEqual(home.ask("POST", f"/v1/jobs/{job}/cancel")[0], 200)
        slowest = 0
        until = time.monotonic() + 120
        while home.job(job)["state"] != "cancelled":
            began = time.monotonic()
            home.active()
            slowest = max(slowest, time.monotonic() - began)
            self.assertLess(began, until, home.said())
            time.sleep(0.05)
        return slowest

    def test_frozen(self):
        home = self.home()
        home.start()
        kept = self.frozen(home, "kept")
        shim = home.shims()[f"j{kept}.e1"]
        for number in range(4):  # A busy machine causes a delay once, a frozen shim always.
            slowest = self.slowest_while_cancelled(home, self.frozen(home, f"gone-{number}"))
            if slowest < 2:
                break
        self.assertLess(slowest, 2, "a frozen shim keeps everybody waiting")
        # A shim without a response still runs: also the next daemon keeps its job.
        self.assertEqual(home.job(kept)["state"], "running")
        home.kill()
        home.check()
        home.start()
        self.assertEqual(home.job(kept)["state"], "running")
        os.kill(shim, signal.SIGCONT)
        (home.base / "go").touch()
        self.assertEqual(home.wait_for(kept, ["done"])["leases_used"], 1)
        self.finish(home)


class Disk(KillTest):
    def small_disk(self):
        home = self.home()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", home.path],
                              capture_output=True, check=False)
        if done.returncode != 0:
            self.skipTest("a small file system cannot be mounted: " + done.stderr.decode().strip())
        # Before the cleanup of the state directory.
        self.addCleanup(subprocess.run, ["umount", "-l", home.path], check=False)
        self.addCleanup(home.kill)
        home.configure(CONFIG)
        return home

    def fill(self, home):
        with open(home.path / "filler", "wb", buffering=0) as out:
            try:
                while out.write(bytes(4096)):
                    pass
            except OSError:
                pass

    def test_full(self):
        home = self.small_disk()
        home.start()
        first = home.submit("first", 20, wait_for=home.base / "go")
        home.wait_for(first, ["running"])
        self.fill(home)
        # The first submission on the full disk waits; later calls get an error.
        waiting = [threading.Thread(target=home.submit, args=(f"waits-{n}", 1)) for n in range(40)]
        answers = []
        until = time.monotonic() + 60
        waiting[0].start()
        while not answers or answers[-1][0] != 503:
            self.assertLess(time.monotonic(), until, "nobody is told of the full disk")
            answers.append(home.ask("GET", "/healthz"))
            if answers[-1][0] == 200 and not waiting[0].is_alive():  # One more fitted.
                waiting.pop(0).join()
                waiting[0].start()
            time.sleep(0.02)
        self.assertIn("cannot write to disk", answers[-1][1]["error"])
        self.assertEqual(home.submit_once("refused")[0], 503)
        self.assertEqual(home.job(first)["id"], first)
        (home.path / "filler").unlink()
        waiting[0].join(60)
        self.assertFalse(waiting[0].is_alive())
        home.submit("after", 1)
        (home.base / "go").touch()
        self.assertEqual(home.wait_for(first, ["done"])["leases_used"], 1)
        self.finish(home)

    def is_answered(self, home, number):
        try:
            home.ask("POST", "/v1/jobs", home.request(1), {"Idempotency-Key": f"n{number}"}, 1)
            return True
        except NotThere:  # No answer, or a slow one.
            return home.ask("GET", "/healthz")[0] == 200

    def test_killed_while_full(self):
        home = self.small_disk()
        home.start()
        home.submit("first", 1)
        home.wait_until_idle()
        self.fill(home)
        # The first submission that does not fit gets no answer.
        self.assertTrue(any(not self.is_answered(home, n) for n in range(200)), "it is never full")
        home.kill()
        (home.path / "filler").unlink()
        home.check()
        home.start()
        self.finish(home)


class Restarts(KillTest):
    def jump(self, home, seconds):
        """Makes the manager see a wall clock that is later by this many seconds."""
        file = home.path / "instance.json"
        instance = json.loads(file.read_text())
        instance["born_unix_us"] -= int(seconds * 1e6)
        file.write_text(json.dumps(instance))

    def test_the_clock_jumps(self):
        home = self.home()
        home.start()
        jobs = []
        for number, seconds in enumerate([86400, -2 * 86400, 3600, -1e9, 2e9, -1e12]):
            go = home.base / f"go-{number}"
            jobs.append(home.submit(f"jump-{number}", 1, time_limit="600s", wait_for=go))
            home.wait_for(jobs[-1], ["starting", "running"])
            home.kill()
            self.jump(home, seconds)
            home.check()
            home.start()
            go.touch()
        self.finish(home, undisturbed=jobs)

    def test_a_jump_is_not_running_time(self):
        home = self.home()
        home.start()
        go = home.base / "go"
        job = home.submit("limited", 10, time_limit="600s", wait_for=go)
        home.wait_for(job, ["running"])
        home.kill()
        self.jump(home, 86400)
        home.start()
        home.ask("POST", f"/v1/jobs/{job}/hold")
        home.wait_for(job, ["held"])
        go.touch()
        home.ask("POST", f"/v1/jobs/{job}/release")
        self.assertLess(home.wait_for(job, ["done"])["ran_s"], 600)
        self.finish(home)

    def test_other_settings(self):
        home = self.home()
        home.start()
        go = home.base / "go"
        running = [home.submit(f"runs-{n}", 1, wait_for=go) for n in range(2)]
        running.append(home.submit("gang", 1, gpus=2, launch_per="gpu", wait_for=go))
        for job in running:
            home.wait_for(job, ["running"])
        waits = home.submit("waits", 1, gpus=3)
        self.assertEqual(home.end(signal.SIGTERM), 0)
        home.configure(CONFIG.replace("fifo", "srtf")
                       .replace("left, gpus: 2, cpus: 2, mem: 1", "left, gpus: 6, cpus: 6, mem: 3"))
        home.start()
        self.assertEqual(home.wait_for(waits, ["done"])["leases_used"], 1)
        home.kill()
        home.configure(CONFIG.replace("name: left", "name: other"))
        home.start()  # The old settings apply until the running jobs have ended.
        self.assertIn("which do not fit them", home.said())
        go.touch()
        self.finish(home, undisturbed=running)


if __name__ == "__main__":
    live_kill.main()
