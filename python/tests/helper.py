"""Helpers of the library's tests: the import path, a temporary directory, an environment with or
without a lease, and copies of a job as real processes."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True  # Keeps the source tree clean.
LIBRARY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(LIBRARY))

PATIENCE = 60  # Seconds, which only a test that fails waits.


def lease(job=7, epoch=1, home="/nowhere", **more):
    """The environment of a job's process."""
    return {"MUSTER_JOB": str(job), "MUSTER_EPOCH": str(epoch), "RANK": "0",
            "MUSTER_PROGRESS": f"{home}/leases/j{job}.e{epoch}/progress.jsonl", **more}


def until(what, check):
    end = time.monotonic() + PATIENCE
    while not check():
        if time.monotonic() > end:
            raise AssertionError(f"after {PATIENCE} s still not: {what}")
        time.sleep(0.01)


class LibraryTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="muster-python-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("MUSTER_") and name not in ("RANK", "WORLD_SIZE")}
        patch = mock.patch.dict(os.environ, kept, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def start(self, code, **env):
        """A process that runs this code, in the scratch folder."""
        return self.start_script("-c", code, **env)

    def start_script(self, *words, **env):
        process = subprocess.Popen(
            [sys.executable, *words], cwd=self.folder, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(LIBRARY), "PYTHONDONTWRITEBYTECODE": "1", **env})

        def end():
            process.kill()
            process.communicate()
        self.addCleanup(end)
        return process

    def says(self, process, words):
        """Its next line is this."""
        line = process.stdout.readline()
        if line.rstrip("\n") != words:
            process.kill()
            self.fail(f"'{words}' expected, not {line!r}: {process.stderr.read()}")

    def tell(self, process):
        """Lets the process continue, which waits for a line."""
        process.stdin.write("\n")
        process.stdin.flush()
