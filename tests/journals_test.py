#!/usr/bin/env python3
"""State directories of an earlier version (tests/journals/) are recovered by this one: by deciding
again where the engine version is the same, and by the stored decisions where it is another.

    tests/journals_test.py MUSTER [TEST...]
"""

import json
import pathlib
import shutil
import sqlite3
import sys
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
from live_daemon import OVER, LiveTest, use_programs  # noqa: E402

JOURNALS = pathlib.Path(__file__).resolve().parent / "journals"
OTHER = 4711  # An engine version that no program has.
MASK = (1 << 64) - 1


class Digest:
    """As base/digest.h and store/checksum.h compute it."""

    def __init__(self):
        self.state = 0x6d75737465720001

    @staticmethod
    def mix(x):
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9 & MASK
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb & MASK
        return x ^ (x >> 31)

    def add(self, word):
        self.state = self.mix(self.state ^ self.mix((word + 0x9e3779b97f4a7c15) & MASK))

    def add_bytes(self, text):
        self.add(len(text))
        for i in range(0, len(text), 8):
            self.add(int.from_bytes(text[i:i + 8], "big"))


def checksum(seq, kind, at, body):
    digest = Digest()
    digest.add(seq)
    digest.add_bytes(kind.encode())
    digest.add(at & MASK)
    digest.add_bytes(body.encode())
    return digest.state - (1 << 64) if digest.state >> 63 else digest.state


class JournalsTest(LiveTest):
    def home_of(self, name):
        """A manager with a copy of the directory as its home, not started."""
        daemon = self.daemon_with(start=False)
        shutil.rmtree(daemon.home)
        shutil.copytree(JOURNALS / name, daemon.home)
        for path in [daemon.home, *daemon.home.rglob("*")]:
            path.chmod(0o700 if path.is_dir() else 0o600)
        return daemon, json.loads((daemon.home / "expected.json").read_text())

    def change(self, daemon, engine=None, drop_decisions=False):
        """Another engine version in the snapshot; entries as before decisions were stored."""
        journal = sqlite3.connect(daemon.home / "journal.db")
        seq, body = journal.execute("SELECT seq, body FROM snapshots ORDER BY seq").fetchall()[-1]
        changed = json.loads(body)
        changed["engine"] = engine
        body = json.dumps(changed)
        journal.execute("UPDATE snapshots SET body = ?, checksum = ? WHERE seq = ?",
                        (body, checksum(seq, "", 0, body), seq))
        if drop_decisions:
            for seq, kind, at, body in journal.execute(
                    "SELECT seq, kind, at, body FROM entries").fetchall():
                changed = json.loads(body)
                del changed["did"]
                body = json.dumps(changed)
                journal.execute("UPDATE entries SET body = ?, checksum = ? WHERE seq = ?",
                                (body, checksum(seq, kind, at, body), seq))
        journal.commit()
        journal.close()

    def check(self, daemon, expected):
        """Checks the states of the jobs, except for changes over time, and that new jobs run."""
        found = (f"recovered {expected['active']} active jobs, "
                 f"{expected['leases']} with a lease")
        self.assertIn(found, daemon.log())
        jobs = {job["id"]: job for job in daemon.get("/v1/jobs?state=all&limit=1000")["jobs"]}
        self.assertEqual(sorted(jobs), [job["id"] for job in expected["jobs"]])
        for was in expected["jobs"]:
            now = jobs[was["id"]]
            self.assertEqual(now["name"], was["name"])
            if was["state"] in (*OVER, "held", "blocked"):
                self.assertEqual(now["state"], was["state"], now)
            else:  # Its processes are gone, so it is started again.
                self.assertNotIn(now["state"], OVER, now)
        self.wait_over(self.post_job(["true"], daemon=daemon, gpus=1, estimate=1), daemon=daemon)
        # After that nothing reminds of another version.
        self.assertEqual(daemon.stop(), 0)
        before = daemon.log().count("decided by engine version")
        daemon.start()
        self.assertEqual(daemon.log().count("decided by engine version"), before)

    def test_this_version_decides_again(self):
        for name in ("clean", "killed"):
            with self.subTest(name):
                daemon, expected = self.home_of(name)
                daemon.start()
                self.check(daemon, expected)

    def test_stored_decisions_are_repeated(self):
        for name in ("clean", "killed"):
            with self.subTest(name):
                daemon, expected = self.home_of(name)
                self.change(daemon, OTHER)
                daemon.start()
                self.assertIn(f"recovered {expected['tail']} steps decided by engine version "
                              f"{OTHER}; this is version", daemon.log())
                self.check(daemon, expected)

    def test_a_tail_without_decisions_needs_its_own_version(self):
        daemon, expected = self.home_of("killed")
        self.assertGreater(expected["tail"], 0)
        self.change(daemon, OTHER, drop_decisions=True)
        with open(daemon.base / "serve.log", "ab") as log:
            process = daemon.spawn([daemon.program, "serve"], stdout=log, stderr=log,
                                   env=daemon.environment())
        self.assertEqual(process.wait(60), 1)
        self.assertIn("start and stop that version once", daemon.log())


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    use_programs(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
