#!/usr/bin/env python3
"""Tests of muster.cache with processes that have nothing in common but the cache's name.

    python3 python/tests/cache_named_test.py [TestCase[.test]]
"""

import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from cache_test import CacheCase, content  # noqa: E402
from cache_shared_test import BUDGET, COUNT, SIZE, Logged  # noqa: E402, F401

from muster import _segment  # noqa: E402
from muster.cache import Cache, CachedDataset, CachedFiles  # noqa: E402, F401

RANK = """
import sys
sys.path[:0] = sys.argv[1:3]
from cache_named_test import *
mode, log = sys.argv[3:5]
data = CachedDataset(Logged(log), BUDGET, name="train")
print("ready", flush=True)
if mode == "die":
    data[0]
    os.kill(os.getpid(), signal.SIGKILL)
if mode == "fork and die":
    def load():
        if os.fork() == 0:
            print("forked", flush=True)
            sys.stdin.readline()
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)
    data.cache.fetch(0, load)
sys.stdin.readline()
for key in range(COUNT):
    assert data[key] == content(key, SIZE)
print("done", flush=True)
sys.stdin.readline()
"""


# A script that ends while its workers wait for work, as a DataLoader's with persistent_workers do.
ENDS_FIRST = """
import sys
sys.path[:0] = sys.argv[1:3]
{first}
from muster.cache import Cache
import multiprocessing, time
def work(cache, ready):
    cache.fetch(0, lambda: b"abc")
    ready.send(1)
    time.sleep(600)
if __name__ == "__main__":
    cache = Cache(100, "train", 10)
    context = multiprocessing.get_context(sys.argv[3])
    ours, theirs = context.Pipe()
    worker = context.Process(target=work, args=(cache, theirs), daemon=True)
    worker.start()
    ours.recv()
    print(cache.get(0))
"""


class Named(CacheCase):
    """Processes that have nothing in common but the cache's name, as the ranks of a node."""

    def setUp(self):
        super().setUp()
        self.log = f"{self.scratch()}/log"
        self.lease = f"test-{os.getpid()}-{random.getrandbits(32):x}"
        environment = mock.patch.dict(os.environ, {"MUSTER_LEASE": self.lease})
        environment.start()
        self.addCleanup(environment.stop)
        self.addCleanup(_segment.sweep)  # Ranks are killed at the end of a test.

    def file(self):
        return pathlib.Path(_segment.DIRECTORY, f"muster-cache-{os.geteuid()}-{self.lease}-train")

    def start(self, mode="read"):
        folder = pathlib.Path(__file__).resolve().parent
        rank = subprocess.Popen(
            [sys.executable, "-c", RANK, str(folder), str(folder.parent), mode, self.log],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(rank.stdin.close)
        self.addCleanup(rank.stdout.close)
        self.addCleanup(rank.wait)
        self.addCleanup(rank.kill)
        self.assertEqual(rank.stdout.readline(), "ready\n")
        return rank

    def say(self, ranks):
        for rank in ranks:
            rank.stdin.write("go\n")
            rank.stdin.flush()

    def test_four_ranks_share_one_copy_and_the_last_removes_it(self):
        ranks = [self.start() for _ in range(4)]
        self.say(ranks)
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "done\n")
        lines = pathlib.Path(self.log).read_text().split()
        self.assertEqual(len(lines), 80 + 4 * 120)
        with Cache(BUDGET, "train", COUNT) as cache:
            self.assertEqual(cache.counters()[:3], (3 * 80, 80 + 4 * 120, BUDGET))
            self.assertLess(self.file().stat().st_blocks * 512, BUDGET + 31 * COUNT + 70_000)
        self.assertTrue(self.file().exists())
        self.say(ranks)
        for rank in ranks:
            self.assertEqual(rank.wait(), 0)
        self.assertFalse(self.file().exists())

    def test_what_a_killed_job_leaves_is_removed_by_the_next(self):
        self.assertEqual(self.start("die").wait(), -signal.SIGKILL)
        self.assertTrue(self.file().exists())
        with mock.patch.dict(os.environ, {"MUSTER_LEASE": self.lease + "-next"}):
            Cache(100)
        self.assertFalse(self.file().exists())

    def test_a_script_that_ends_before_its_workers_removes_it(self):
        folder = pathlib.Path(__file__).resolve().parent
        script = pathlib.Path(self.log).with_name("train.py")
        for first in ("", "import weakref; weakref.finalize(weakref, int)"):  # It ends last then.
            script.write_text(ENDS_FIRST.format(first=first))
            for method in ("fork", "spawn", "forkserver"):
                with self.subTest(method, first=first):
                    ended = subprocess.run(
                        [sys.executable, "-B", script, folder, folder.parent, method],
                        check=False, capture_output=True, text=True)
                    self.assertEqual((ended.stdout, ended.stderr), ("b'abc'\n", ""))
                    self.assertFalse(self.file().exists())
                    _segment.sweep()

    def test_what_is_in_use_is_left_alone(self):
        rank = self.start()
        with mock.patch.dict(os.environ, {"MUSTER_LEASE": self.lease + "-next"}):
            Cache(100, "train").close()
        self.assertTrue(self.file().exists())
        self.say([rank])
        self.assertEqual(rank.stdout.readline(), "done\n")

    def test_a_child_that_lives_on_keeps_no_lock_of_a_killed_rank(self):
        rank = self.start("fork and die")
        self.assertEqual(rank.stdout.readline(), "forked\n")
        self.assertEqual(rank.wait(), -signal.SIGKILL)
        self.assertTrue(self.file().exists())
        with Cache(BUDGET, "train", COUNT) as cache:
            self.assertEqual(cache.fetch(0, lambda: b"abc"), b"abc")

    def test_one_that_comes_while_the_last_goes(self):
        leaving, coming = Cache(100, "train", 10), []
        leaving._segment.lock(_segment.ALIVE)  # The name is about to be removed.
        thread = threading.Thread(target=lambda: coming.append(Cache(100, "train", 10)))
        thread.start()
        thread.join(0.3)
        self.assertEqual(coming, [])
        leaving.close()
        thread.join()
        self.assertEqual(coming[0]._segment.identity()[1], self.file().stat().st_ino)

    def test_two_that_go_at_once(self):
        real, both_tried = _segment._remove_if_unused, threading.Barrier(2)

        def remove(fd, path):
            real(fd, path)
            both_tried.wait()

        caches = [Cache(100, "train", 10) for _ in range(2)]
        with mock.patch.object(_segment, "_remove_if_unused", remove):
            threads = [threading.Thread(target=cache.close) for cache in caches]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertFalse(self.file().exists())

    def test_leases_do_not_share(self):
        with Cache(100, "train", 10) as cache:
            cache.put(0, b"mine")
            with mock.patch.dict(os.environ, {"MUSTER_LEASE": self.lease + "-next"}):
                with Cache(100, "train", 10) as other:
                    self.assertIsNone(other.get(0))

    def test_different_datasets_of_one_name(self):
        with Cache(100, "train", 10):
            for arguments, said in (((101, "train", 10), "a budget of 100 bytes, not for .* 101"),
                                    ((100, "train", 11), "10 items, not for 11 items")):
                with self.assertRaisesRegex(ValueError, f"'train' was created for {said}"):
                    Cache(*arguments)
        one, other = self.folder([10]), self.folder([10])
        files = CachedFiles(one, 100, name="train")
        with self.assertRaisesRegex(ValueError, "was created for the dataset"):
            CachedFiles(other, 100, name="train")
        self.assertEqual(files[0], content(0, 10))
        files.close()
        self.assertFalse(self.file().exists())

    def test_one_that_was_left_half_made_is_made_anew(self):
        self.file().write_bytes(b"\1" * 500)
        with Cache(100, "train", 10) as cache:
            self.assertEqual(cache.fetch(0, lambda: b"abc"), b"abc")
            self.assertEqual(cache.get(0), b"abc")


if __name__ == "__main__":
    unittest.main()
