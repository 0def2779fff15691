#!/usr/bin/env python3
"""The live manager, killed and starved in every way we know: what it has acknowledged is there
afterwards, once, and nothing ran twice at the same time. muster-invariants is the judge.

    tests/live_kill_test.py MUSTER INVARIANTS [TEST...]

With MUSTER_LONG=1 it goes on for much longer.
"""

import os
import random
import signal
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True  # Nothing is left beside the sources.
from live_home import Home, NotThere  # noqa: E402

LONG = os.environ.get("MUSTER_LONG") == "1"
MUSTER = INVARIANTS = ""


class KillTest(unittest.TestCase):
    def home(self, **more):
        home = Home(MUSTER, INVARIANTS, **more).__enter__()
        self.addCleanup(home.__exit__)
        return home

    def finish(self, home):
        """All jobs come to their end, the daemon ends as told, and all is well."""
        home.wait_until_idle()
        self.assertEqual(home.end(signal.SIGTERM), 0, home.said())
        print(f"{self.id().split('.')[-1]}: {home.check()}", flush=True)


class Crowd:
    """Clients that submit, cancel, hold and release, and do not mind a daemon that is gone."""

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
                time.sleep(chance.random() * 0.1)
        except Exception as error:  # pylint: disable=broad-except
            self.wrong.append(error)

    def act(self, number, chance, mine):
        hold = chance.random() < 0.1
        job = self.home.submit(f"c{number}-{len(mine)}", chance.randint(1, 8), self.over,
                               gpus=chance.choice([1, 1, 2, 3]), hold=hold)
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
            pass  # It may have been done or not.


class Daemon(KillTest):
    def test_killed_at_random(self):
        home, chance = self.home(), random.Random(7)
        crowd = Crowd(home, 3, seed=7)
        self.addCleanup(crowd.over.set)
        for number in range(100 if LONG else 8):
            if number % 4 == 3:  # While it is finding its way back.
                home.spawn()
                time.sleep(chance.random() * 0.3)
            else:
                home.start()
                time.sleep(0.1 + chance.random())
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
        jobs = [home.submit(f"k{n}", 6, gpus=1 + n % 2) for n in range(60 if LONG else 6)]
        killed = 0
        until = time.monotonic() + 120
        while killed < len(jobs) and home.active() and time.monotonic() < until:
            time.sleep(chance.random() * 0.3)
            shims = home.shims()
            if not shims:
                continue
            os.kill(chance.choice(sorted(shims.values())), signal.SIGKILL)
            killed += 1
            if killed % 3 == 0:  # And nobody there to see it.
                home.kill()
                home.check()
                home.start()
        home.wait_until_idle()
        states = [home.job(job) for job in jobs]
        self.assertGreater(sum(job["leases_used"] for job in states), len(jobs))
        # One that is lost again and again is given up.
        for job in states:
            self.assertTrue(job["state"] == "done" or job["leases_used"] > 3, job)
        self.finish(home)

    def test_frozen(self):
        home = self.home()
        home.start()
        kept, gone = home.submit("kept", 10), home.submit("gone", 10)
        for job in (kept, gone):
            home.wait_for(job, ["running"])
        shims = home.shims()
        for pid in shims.values():
            os.kill(pid, signal.SIGSTOP)
        self.assertEqual(home.ask("POST", f"/v1/jobs/{gone}/cancel")[0], 200)
        slowest = 0
        until = time.monotonic() + 40
        while home.job(gone)["state"] != "cancelled":
            began = time.monotonic()
            home.active()
            slowest = max(slowest, time.monotonic() - began)
            self.assertLess(began, until, home.said())
            time.sleep(0.05)
        self.assertLess(slowest, 2, "a frozen shim keeps everybody waiting")
        # Silence is no end: it is left alone, by the next daemon too.
        self.assertEqual(home.job(kept)["state"], "running")
        home.kill()
        home.check()
        home.start()
        self.assertEqual(home.job(kept)["state"], "running")
        os.kill(shims[f"j{kept}.e1"], signal.SIGCONT)
        self.assertEqual(home.wait_for(kept, ["done"])["leases_used"], 1)
        self.finish(home)


def main():
    global MUSTER, INVARIANTS  # pylint: disable=global-statement
    MUSTER, INVARIANTS = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[3:]])


if __name__ == "__main__":
    main()
