"""Helpers for tests of the client commands of the live manager: a temporary state directory with a
FakeManager, and `muster` run against it.

    class SomeTest(ClientTest):
        def test_it(self):
            self.some_jobs()
            out, err = self.run_muster("queue")
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from fake_manager import FakeManager

PATIENCE = 120  # In seconds; only a failing test waits this long.


class Program:
    muster = ""  # Its path, set by main().


def main():
    """tests/X.py MUSTER [TEST...]"""
    Program.muster = sys.argv[1]
    unittest.main(module="__main__", argv=[sys.argv[0]] + sys.argv[2:])


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.home = pathlib.Path(self.scratch.name)
        self.manager = FakeManager(self.home / "muster.sock").__enter__()

    def tearDown(self):
        self.manager.__exit__()
        self.scratch.cleanup()

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        return {**kept, "MUSTER_HOME": str(self.home), "TZ": "UTC", **more}

    def start(self, *words, **more):
        return subprocess.Popen([Program.muster, *map(str, words)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=self.environment(),
                                cwd=self.home, **more)

    def run_muster(self, *words, status=0):
        return self.finish(self.start(*words), words, status)

    def finish(self, process, words, status=0):
        """Returns the rest of its output."""
        out, err = [text.decode() for text in process.communicate(timeout=PATIENCE)]
        self.assertEqual(process.returncode, status, f"{words}: {out}{err}")
        return out, err

    def once_asked(self, part, *acts):
        """Runs the `acts` with short pauses after the first request for the target."""
        self.manager.asked.clear()

        def run():
            self.manager.wait_asked(part)
            for act in acts:
                act()
                time.sleep(0.1)
        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)

    def some_jobs(self):
        now = time.time()
        common = {"user": "ann", "tenant": "vision", "gpus": 2, "submitted": now - 500}
        self.manager.jobs = {
            1: {**common, "id": 1, "name": "old", "state": "done", "ran_s": 60.0, "why": "exit 0"},
            2: {**common, "id": 2, "name": "first", "state": "queued", "why": "8 GPUs wanted"},
            3: {**common, "id": 3, "name": "runs", "state": "running", "ran_s": 192.5,
                "where": "node-1:0-1", "started": now - 192.5},
            4: {**common, "id": 4, "name": "urgent", "state": "queued", "priority": 5},
            5: {**common, "id": 5, "name": "sweep", "state": "held", "user": "bob", "array": 5,
                "index": 0},
        }
