#!/usr/bin/env python3
"""muster-invariants finds errors: each test corrupts one place of a valid state directory.

    tests/invariants_test.py MUSTER INVARIANTS [TEST...]
"""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
from live_home import Home  # noqa: E402

MUSTER = INVARIANTS = ""
CONFIG = "nodes: [{name: one, gpus: 1, cpus: 1, mem: 1}]\ncgroup: none\n"


def checksum(seq, kind, at, body):
    """Computes the checksum of src/live/store/checksum.h."""
    def mix(x):
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 % 2**64
        x = (x ^ x >> 27) * 0x94d049bb133111eb % 2**64
        return x ^ x >> 31

    def words(text):
        text = text.encode()
        chunks = [text[i:i + 8] for i in range(0, len(text), 8)]
        return [len(text), *(int.from_bytes(chunk, "big") for chunk in chunks)]
    state = 0x6d75737465720001
    for word in (seq, *words(kind), at, *words(body)):
        state = mix(state ^ mix((word + 0x9e3779b97f4a7c15) % 2**64))
    return state - 2**64 if state >= 2**63 else state


class Spoilt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A state directory: jobs 1 and 2 ran one after the other on the only GPU; 3 is held."""
        cls.home = Home(MUSTER, INVARIANTS, CONFIG)
        cls.addClassCleanup(cls.home.__exit__)
        cls.home.start()
        cls.home.submit("a", 1)
        cls.home.submit("b", 1)
        cls.home.submit("c", 1, hold=True)
        cls.home.wait_for(2, ["done"])
        cls.home.kill()

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="muster-")
        self.addCleanup(scratch.cleanup)
        self.base = pathlib.Path(scratch.name) / "spoilt"
        shutil.copytree(self.home.base, self.base,
                        ignore=shutil.ignore_patterns("muster.sock", "ctl"))

    def expect(self, status, words):
        done = subprocess.run([INVARIANTS, self.base / "home", self.base / "acknowledged",
                               self.base / "runs"], capture_output=True, text=True, timeout=240,
                              check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn(words, done.stdout + done.stderr)

    def record(self, name="j1.e1"):
        return self.base / "home" / "leases" / name

    def edit(self, file, **changes):
        facts = json.loads(file.read_text())
        facts.update(changes)
        file.write_text(json.dumps(facts))

    def append(self, file, *lines):
        with open(self.base / file, "a", encoding="utf-8") as out:
            out.writelines(line + "\n" for line in lines)

    def sql(self, words):
        database = sqlite3.connect(self.base / "home" / "journal.db")
        database.execute(words)
        database.commit()
        database.close()

    def test_nothing(self):
        self.expect(0, "ok: 3 jobs, 2 leases, 2 records, ")

    def test_a_home_without_a_journal(self):
        for file in (self.base / "home").glob("journal.db*"):
            file.unlink()
        self.expect(2, "no journal.db")

    def test_acknowledged_and_gone(self):
        self.append("acknowledged", "99 z")
        self.expect(1, "job 99 was acknowledged and is not there")

    def test_keys_of_two_jobs(self):
        self.append("acknowledged", "2 a/0")
        self.expect(1, "key a/0 stood for job 1, then for job 2")

    def test_ids_given_twice(self):
        self.append("acknowledged", "2 z")
        self.expect(1, "job 2 was given for key b/0, then for key z")

    def test_a_row_is_gone(self):
        self.sql("DELETE FROM jobs WHERE id = 3")
        self.expect(1, "job 3: has no row")

    def test_a_row_says_otherwise(self):
        self.sql("UPDATE jobs SET state = 'queued', ended = NULL WHERE id = 1")
        self.expect(1, "job 1: queued by the table, but unknown or over by the journal")

    def test_a_row_of_another_end(self):
        self.sql("UPDATE jobs SET state = 'failed' WHERE id = 1")
        self.expect(1, "job 1: done by the journal, failed by the table")

    def test_an_id_will_come_back(self):
        self.sql("UPDATE meta SET value = 3 WHERE name = 'next_id'")
        self.expect(2, "a counter is lower than an existing number")
        self.sql("DELETE FROM jobs WHERE id = 3")
        self.expect(1, "id 3 will be used again")

    def test_an_entry_is_gone(self):
        self.sql("DELETE FROM entries WHERE seq = 2")
        self.expect(1, "entry 2")

    def test_an_entry_is_damaged(self):
        self.sql("UPDATE entries SET body = replace(body, 'submit', 'cancel') WHERE seq = 1")
        self.expect(1, "entry 1")

    def test_decided_differently(self):
        database = sqlite3.connect(self.base / "home" / "journal.db")
        seq, kind, at, body = database.execute(
            "SELECT seq, kind, at, body FROM entries WHERE seq = 3").fetchone()
        step = json.loads(body)
        step["before"] = step["before"][::-1]
        body = json.dumps(step)
        database.execute("UPDATE entries SET body = ?, checksum = ? WHERE seq = 3",
                         (body, checksum(seq, kind, at, body)))
        database.commit()
        database.close()
        self.expect(1, "entry 3: replayed, what came before it comes out differently")

    def test_time_goes_back(self):
        database = sqlite3.connect(self.base / "home" / "journal.db")
        seq, kind, body = database.execute(
            "SELECT seq, kind, body FROM entries WHERE seq = 3").fetchone()
        database.execute("UPDATE entries SET at = 1, checksum = ? WHERE seq = 3",
                         (checksum(seq, kind, 1, body),))
        database.commit()
        database.close()
        self.expect(1, "entry 3: its time is earlier than the previous entry's")

    def test_the_last_entries_are_gone(self):
        self.sql("DELETE FROM entries WHERE seq > 2")
        self.sql("UPDATE meta SET value = 3 WHERE name = 'next_seq'")
        self.expect(1, "by the table")

    def test_no_report(self):
        (self.record() / "exit.json").unlink()
        self.expect(1, "j1.e1: is over by the journal (finished), but has no exit.json")

    def test_no_record(self):
        shutil.rmtree(self.record())
        self.expect(1, "j1.e1: finished by the journal, but there is no record")

    def test_a_record_that_could_start(self):
        for name in ("exit.json", "started.json"):
            (self.record() / name).unlink()
        self.expect(1, "j1.e1: is over by the journal, but its record is open")

    def test_a_lease_nobody_ordered(self):
        shutil.copytree(self.record(), self.record("j1.e7"))
        self.edit(self.record("j1.e7") / "spec.json", epoch=7)
        self.expect(1, "j1.e7: a lease nobody ordered")

    def test_a_record_in_the_wrong_place(self):
        shutil.copytree(self.record(), self.record("j2.e2"))
        self.expect(1, "j2.e2: contains another lease")

    def test_other_gpus(self):
        self.edit(self.record() / "spec.json", gpus=[1])
        self.expect(1, "j1.e1: has other GPUs than the journal says")

    def test_a_gpu_twice(self):
        end = json.loads((self.record("j2.e1") / "exit.json").read_text())["end_boot_us"]
        self.edit(self.record() / "exit.json", end_boot_us=end)
        self.expect(1, "GPU one:0")

    def test_an_end_before_the_start(self):
        report = json.loads((self.record() / "exit.json").read_text())
        self.edit(self.record() / "exit.json", end_boot_us=report["start_boot_us"] - 1)
        self.expect(1, "j1.e1: ended before it started")

    def test_somebody_is_left(self):
        mark = json.loads((self.record() / "spec.json").read_text())["mark"]
        left = subprocess.Popen(["sleep", "60"], env={**os.environ, "MUSTER_LEASE": mark})
        self.addCleanup(left.wait)
        self.addCleanup(left.kill)
        self.expect(1, f"j1.e1: is over by the journal, but process {left.pid} is left of it")

    def test_a_lease_that_ran_twice(self):
        self.append("runs", "start 1 1 0 999999999 1")
        self.expect(1, "j1.e1: rank 0 ran twice")

    def test_a_job_twice_at_once(self):
        at = (self.base / "runs").read_text().split()[5]
        self.append("runs", f"start 1 2 0 1 {int(at) - 5}", f"beat 1 2 0 1 {int(at) + 5}")
        self.expect(1, "job 1: j1.e2 and j1.e1 had it at once")

    def test_a_gpu_twice_by_what_jobs_say(self):
        lines = (self.base / "runs").read_text().splitlines()
        first = next(line for line in lines if line.startswith("end 1 ")).split()
        last = lines[-1].split()
        self.assertEqual(last[:2], ["end", "2"])
        first[0], first[5] = "beat", last[5]
        self.append("runs", " ".join(first))
        self.expect(1, "GPU one:0: j1.e1 and j2.e1 had it at once")

    def test_done_but_not_to_its_end(self):
        lines = (self.base / "runs").read_text().splitlines()
        (self.base / "runs").write_text("".join(line + "\n" for line in lines
                                                if not line.startswith("end 2")))
        self.expect(1, "job 2 is done, but never came to its end")


def main():
    global MUSTER, INVARIANTS  # pylint: disable=global-statement
    MUSTER, INVARIANTS = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])


if __name__ == "__main__":
    main()
