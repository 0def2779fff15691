#!/usr/bin/env python3
"""The history of a live manager, with preemptions, failures, retries and restarts. A replay makes
the same decisions, a forged journal is detected, and other schedulers and studies can use it.

    tests/live_whatif_test.py MUSTER TRAINER [TEST...]
"""

import json
import pathlib
import shutil
import sqlite3
import sys
import time

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import live_daemon  # noqa: E402
from live_daemon import GATE, LiveTest  # noqa: E402

COSTS = ("--checkpoint-cost", "0s", "--restart-cost", "0s", "--migration-cost", "0s")
MASK = (1 << 64) - 1


def mix(x):
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & MASK
    return x ^ (x >> 31)


def checksum(seq, kind, at, body):
    """Computes the checksum of src/live/store/checksum.h."""
    state = 0x6d75737465720001

    def add(word):
        nonlocal state
        state = mix(state ^ mix((word + 0x9e3779b97f4a7c15) & MASK))

    def add_bytes(text):
        add(len(text))
        for i in range(0, len(text), 8):
            add(int.from_bytes(text[i:i + 8], "big"))
    add(seq)
    add_bytes(kind.encode())
    add(at)
    add_bytes(body.encode())
    return state - (1 << 64) if state >> 63 else state


class WhatIf(LiveTest):
    CONFIG = {"virtual_gpus": 2,
              "scheduler": {"policy": "srtf", "estimates": "user", "min_run": "0s",
                            "quantum": "1s", "retry": "fixed:2"}}

    def live_through_it(self):
        """Runs jobs whose leases end in all possible ways, and kills the manager in between."""
        long = self.submit("--gpus", 2, "--estimate", "1h", "--name", "long", "--", "sh", "-c",
                           GATE)
        self.wait_state(long, "running")
        short = self.submit("--gpus", 1, "--estimate", "1s", "--name", "short", "--", "sleep", "0.3")
        self.wait_over(short)
        self.assertIn("preempted", self.kinds(long))
        mark = self.daemon.work / "tried"
        again = self.submit("--estimate", "1s", "--retries", 2, "--name", "again", "--", "sh", "-c",
                            f"test -e {mark} || {{ touch {mark}; exit 5; }}")
        self.daemon.kill()
        self.daemon.start()
        self.wait_over(again)
        bad = self.submit("--estimate", "1s", "--retries", 0, "--", "sh", "-c", "exit 3")
        self.wait_over(bad, "failed")
        unwanted = self.submit("--estimate", "1s", "--", "sleep", "600")
        self.wait_state(unwanted, "running")
        self.daemon.muster("cancel", unwanted)
        self.wait_over(unwanted, "cancelled")
        after = self.submit("--after-ok", long, "--estimate", "1s", "--", "true")
        self.go()
        self.wait_over(after)
        self.wait_over(long)
        self.assertGreaterEqual(self.daemon.job(long)["leases_used"], 2)
        self.assertGreaterEqual(self.daemon.job(again)["leases_used"], 2)
        return 6

    def copy(self):
        """Returns a separate directory with a copy of the database."""
        place = pathlib.Path(self.daemon.base / f"copy-{time.monotonic_ns()}")
        place.mkdir()
        with sqlite3.connect(f"file:{self.daemon.home}/journal.db?mode=ro", uri=True) as live, \
                sqlite3.connect(place / "journal.db") as other:
            live.backup(other)
        return place

    def test_decided_again_it_is_what_happened(self):
        jobs = self.live_through_it()
        waits = self.submit("--estimate", "1h", "--", "sleep", "600")
        self.wait_state(waits, "running")
        for where in (self.daemon.home, self.daemon.home / "muster.sock",
                      self.daemon.home / "journal.db"):  # While the manager runs.
            said = self.daemon.json("sim", "--from-live", where)
            self.assertTrue(said["equal"])
            self.assertGreaterEqual(said["leases"], jobs + 2)
            self.assertGreater(said["decisions"], said["leases"])  # At least one job was stopped.
            self.assertEqual(said["happened"]["finished"], jobs)
            self.assertEqual(said["happened"]["unfinished"], 1)
        out, _ = self.daemon.muster("sim", "--from-live", self.daemon.home)
        self.assertRegex(out.splitlines()[0],
                         r"^\d+ decisions, \d+ leases, digest [0-9a-f]{16}: equal to what happened$")
        self.assertIn(f"digest {said['digest']}:", out)
        self.daemon.kill()  # The journal does not change.
        self.assertEqual(self.daemon.json("sim", "--from-live", self.daemon.home)["digest"],
                         said["digest"])
        self.daemon.start()
        self.daemon.stop()  # This begins a new era without events.
        stopped = self.daemon.json("sim", "--from-live", self.daemon.home)
        self.assertEqual((stopped["equal"], stopped["decisions"]), (True, 0))
        self.assertEqual(stopped["happened"]["finished"], jobs)

    def test_what_was_forged_is_noticed(self):
        self.live_through_it()
        place = self.copy()
        self.daemon.muster("sim", "--from-live", place)
        with sqlite3.connect(place / "journal.db") as database:
            rows = database.execute("SELECT seq, kind, at, body FROM entries").fetchall()
        failed = [row for row in rows if '"fate":"failed"' in row[3]]
        self.assertGreaterEqual(len(failed), 2)
        seq, kind, at, body = failed[0]
        forged = body.replace('"fate":"failed"', '"fate":"finished"')
        for body, check in ((forged, checksum(seq, kind, at, forged)),
                            (forged, checksum(seq, kind, at, body))):  # A wrong checksum.
            other = place / f"{check}.db"
            shutil.copy(place / "journal.db", other)
            with sqlite3.connect(other) as database:
                database.execute("UPDATE entries SET body = ?, checksum = ? WHERE seq = ?",
                                 (body, check, seq))
            _, err = self.daemon.muster("sim", "--from-live", other, status=1)
            self.assertRegex(err, f"entry ({seq}|{seq + 1})\\b")

    def test_under_another_scheduler(self):
        jobs = self.live_through_it()
        runs = self.daemon.base / "runs"
        out, err = self.daemon.muster("sim", "--from-live", self.daemon.home, "--policy", "fifo",
                                      *COSTS, "--out", runs)
        first = out.splitlines()[0]
        self.assertRegex(first, f"^under fifo the mean wait of {jobs} jobs would have been "
                                r"\S+ \S+ instead of \S+ \S+, both simulated; actual: \S+ \S+$")
        self.assertLess(len(first), 120)
        for word in ("as it happened", "its own scheduler", "Gains and losses under fifo"):
            self.assertIn(word, out)
        self.assertEqual(sorted(path.name for path in runs.iterdir()),
                         ["as-it-happened", "fifo+proportional+consolidate",
                          "same-srtf+proportional+consolidate"])
        page = self.daemon.base / "page.html"
        self.daemon.muster("report", runs, "--out", page)
        self.assertIn("Gains and losses", page.read_text())
        said = self.daemon.json("sim", "--from-live", self.daemon.home, "--scheduler", "tiresias",
                                *COSTS)
        self.assertTrue(said["title"].startswith("under tiresias "), said["title"])
        self.daemon.muster("sim", "--from-live", self.daemon.home, "--cluster", "1x4", "--since",
                           "1h", *COSTS)
        _, err = self.daemon.muster("sim", "--from-live", self.daemon.home, "--since",
                                    "2020-13-01", status=2)
        self.assertIn("--since", err)
        _, err = self.daemon.muster("sim", "--from-live", self.daemon.work, status=2)
        self.assertIn("journal.db", err)

    def test_as_the_dashboard_asks(self):
        self.live_through_it()
        timeline = self.daemon.get("/v1/timeline")
        self.assertEqual(timeline["unit"], "unix")
        self.assertEqual(timeline["gpus"], 2)
        self.assertEqual(set(timeline["jobs"]["name"]) >= {"long", "short", "again"}, True)
        bars = timeline["bars"]
        self.assertEqual(set(bars["row"]), {0, 1})
        ends = {timeline["ends"][end] for end in bars["end"]}
        self.assertGreaterEqual(ends, {"finished", "failed", "stopped"})
        self.assertEqual((timeline["load"]["busy"][-1], timeline["load"]["waiting"][-1]), (0, 0))
        self.assertLess(max(timeline["load"]["busy"]), 3)
        usage = self.daemon.get("/v1/usage?points=5")
        self.assertGreater(sum(usage["tenants"][0]["used"]), 0)

        page = self.daemon.get("/v1/whatif?policy=fifo")
        self.assertTrue(page["title"].startswith("under fifo the mean wait of 6 jobs"), page["title"])
        plots = {plot["key"]: plot for section in page["sections"] for plot in section["plots"]}
        self.assertEqual(set(plots), {"jct-cdf", "wait-cdf", "busy-gpus", "waiting-jobs"})
        for plot in plots.values():
            self.assertEqual([series["name"] for series in plot["series"]],
                             ["as it happened", "its own scheduler", "fifo"])
        status, said, _ = self.daemon.ask("GET", "/v1/whatif?policy=fifu")
        self.assertEqual(status, 400)
        self.assertIn("did you mean 'fifo'", json.loads(said)["error"])

    def test_the_study(self):
        self.live_through_it()
        for where in (self.daemon.home, self.daemon.home / "journal.db"):
            out, _ = self.daemon.muster("analyze", where)
            self.assertIn("6 jobs", out)
        study = self.daemon.base / "study"
        self.daemon.muster("analyze", self.daemon.home / "muster.sock", "--out", study)
        self.assertTrue((study / "index.html").exists())
        said = self.daemon.json("analyze", self.daemon.home)
        text = json.dumps(said)
        self.assertIn("failed", text)


if __name__ == "__main__":
    live_daemon.main(__doc__)
