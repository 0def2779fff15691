#!/usr/bin/env python3
"""Tests of muster.cache in one process: exact bytes, edges, memory that is short.

    python3 python/tests/cache_test.py [TestCase[.test]]

Tests with several processes are in cache_shared_test.py and cache_named_test.py.
"""

import contextlib
import io
import os
import pathlib
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import unittest
import warnings
from unittest import mock

LIBRARY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(LIBRARY))

from muster import _room  # noqa: E402
from muster.cache import Cache, CachedDataset, CachedFiles, Lru  # noqa: E402

LONGEST = 120  # Maximum seconds per test, so that a lock that is never released fails the test.


def content(key, size):
    """Bytes that only this item has, so that a mix of two is seen."""
    return random.Random(key).randbytes(size)


def shuffled(count, seed):
    order = list(range(count))
    random.Random(seed).shuffle(order)
    return order


class Items:
    """A dataset that counts what is read of it."""

    def __init__(self, sizes):
        self.sizes = sizes
        self.read = 0

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, key):
        self.read += self.sizes[key]
        return content(key, self.sizes[key])


class CacheCase(unittest.TestCase):
    def setUp(self):
        signal.alarm(LONGEST)
        self.addCleanup(signal.alarm, 0)

    def scratch(self):
        """The path of a directory that is there until the test ends."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        return scratch.name

    def folder(self, sizes):
        scratch = self.scratch()
        for key, size in enumerate(sizes):
            path = pathlib.Path(scratch, f"{key % 3}", f"{key:05}.bin")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content(key, size))
        return scratch


class ExactBytes(CacheCase):
    def test_files_are_read_as_the_formula_says(self):
        # 60 files of 4,000 bytes, 100,000 bytes of budget: 25 files exactly.
        files = CachedFiles(self.folder([4000] * 60), budget=100_000)
        wanted = [pathlib.Path(path).read_bytes() for path in files.paths]
        for epoch in range(4):
            files.set_epoch(epoch)
            before = bytes_read_by_this_process()
            for i in shuffled(60, epoch):
                self.assertEqual(files[i], wanted[i])
            really = bytes_read_by_this_process() - before
            counters = files.cache.epoch_counters()
            exact = 240_000 if epoch == 0 else 240_000 - 100_000
            self.assertEqual(counters.read_bytes, exact)
            self.assertTrue(exact <= really < exact + 4000, f"{really}, not {exact}")
            self.assertEqual(counters.hits, 0 if epoch == 0 else 25)
            self.assertEqual(counters.hits + counters.misses, 60)
        self.assertEqual(files.counters(), (75, 165, 100_000, 100_000, 240_000, 660_000))

    def test_sizes_that_do_not_divide_the_budget(self):
        rng = random.Random(1)
        sizes = [rng.randrange(0, 5000) for _ in range(200)]
        items = Items(sizes)
        data = CachedDataset(items, budget=123_456)
        for epoch in range(4):
            data.set_epoch(epoch)
            items.read = 0
            for i in shuffled(200, epoch):
                data[i]
            counters = data.cache.epoch_counters()
            self.assertEqual(counters.read_bytes, items.read)
            self.assertLessEqual(counters.held_bytes, 123_456)
            if epoch:
                self.assertEqual(items.read, sum(sizes) - counters.held_bytes)
        held = [size for i, size in enumerate(sizes) if i in data.cache]
        refused = [size for i, size in enumerate(sizes) if i not in data.cache]
        self.assertEqual(sum(held), counters.held_bytes)
        self.assertGreater(counters.held_bytes + min(refused), 123_456)
        self.assertEqual(counters.dataset_bytes, sum(sizes))

    def test_an_lru_of_the_same_size_reads_more(self):
        for part in (0.25, 0.5, 0.9):
            budget = int(part * 1_000_000)
            never, lru = Cache(budget, items=1000), Lru(budget)
            for epoch in range(4):
                before = never.counters().read_bytes, lru.counters().read_bytes
                for i in shuffled(1000, epoch):
                    never.fetch(i, lambda: bytes(1000))
                    lru.fetch(i, lambda: bytes(1000))
                read = never.counters().read_bytes - before[0]
                self.assertLessEqual(lru.counters().held_bytes, budget)
                if epoch:
                    self.assertEqual(read, 1_000_000 - budget)
                    self.assertGreater(lru.counters().read_bytes - before[1], read * 1.05)

    def test_the_comparison_of_the_documents(self):
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
        import cache_compare
        with contextlib.redirect_stdout(io.StringIO()):
            found = cache_compare.compare(files=100, size=50, parts=[0.5], epochs=3, seed=1)
        self.assertEqual(found[0.5, "never"], [5000, 2500, 2500])
        self.assertTrue(all(read > 3000 for read in found[0.5, "lru"]))

    def test_epochs_by_several_callers(self):
        cache = Cache(100, items=10)
        self.assertIsNone(cache.set_epoch(0))
        self.assertIsNone(cache.set_epoch(0))
        cache.fetch(0, lambda: b"x" * 40)
        first, again = cache.set_epoch(1), cache.set_epoch(1)
        self.assertEqual((first.misses, first.read_bytes), (1, 40))
        self.assertEqual(first, again)
        self.assertEqual(cache.epoch_counters()[:2], (0, 0))

    def test_counters_are_reported(self):
        lines = []
        fake = types.ModuleType("muster.progress")
        fake.report = lambda **fields: lines.append(fields)
        cache = Cache(100, items=10)
        with mock.patch.dict(sys.modules, {"muster.progress": fake}):
            for epoch in range(2):
                cache.set_epoch(epoch)
                for i in range(3):
                    cache.fetch(i, lambda: b"x" * 40)
            cache.report()
        self.assertEqual(lines[0], {"cache": {
            "hits": 0, "misses": 3, "held_bytes": 80, "budget_bytes": 100, "dataset_bytes": 120,
            "read_bytes": 120}})
        self.assertEqual(lines[1]["cache"]["hits"], 2)
        self.assertEqual(len(lines), 2)


class Edges(CacheCase):
    def test_no_budget_holds_nothing(self):
        cache = Cache(0, items=5)
        for _ in range(3):
            for i in range(5):
                self.assertEqual(cache.fetch(i, lambda: b"abc"), b"abc")
        self.assertEqual(cache.counters(), (0, 15, 0, 0, 15, 45))

    def test_an_item_larger_than_the_budget_leaves_room_for_others(self):
        cache = Cache(10, items=3)
        for _ in range(2):
            self.assertEqual(len(cache.fetch(0, lambda: bytes(11))), 11)
            self.assertEqual(len(cache.fetch(1, lambda: bytes(10))), 10)
            self.assertEqual(len(cache.fetch(2, lambda: bytes(1))), 1)
        self.assertEqual(cache.counters(), (1, 5, 10, 10, 22, 34))

    def test_any_item_that_can_be_pickled(self):
        data = CachedDataset([{"a": 1}, ("x", 2.5), None, b"", bytearray(b"q")], budget=10_000)
        for _ in range(2):
            self.assertEqual(list(data), [{"a": 1}, ("x", 2.5), None, b"", bytearray(b"q")])
        self.assertEqual(data.counters().hits, 5)
        self.assertEqual(data[-1], bytearray(b"q"))
        sizes = sum(len(pickle.dumps(x, 5)) for x in data.dataset if x != b"")
        self.assertEqual(data.counters().held_bytes, sizes)
        with self.assertRaisesRegex(IndexError, "item 5 is out of range: the dataset has 5 items"):
            data[5]

    def test_transform_sees_every_item_and_is_not_cached(self):
        calls = []
        data = CachedDataset([b"a", b"b"], 100, transform=lambda item: calls.append(item) or 7)
        self.assertEqual([data[0], data[0], data[1]], [7, 7, 7])
        self.assertEqual(calls, [b"a", b"a", b"b"])

    def test_put_and_get(self):
        cache = Cache(10, items=3)
        self.assertIsNone(cache.get(0))
        self.assertTrue(cache.put(0, b"12345678"))
        self.assertTrue(cache.put(0, b"other"))
        self.assertFalse(cache.put(1, b"123"))
        self.assertEqual((cache.get(0), cache.get(1)), (b"12345678", None))
        for key in (-1, 3):
            with self.assertRaisesRegex(IndexError, f"item {key} of a cache for 3"):
                cache.fetch(key, bytes)

    def test_a_load_that_fails_is_tried_again(self):
        cache = Cache(10, items=1)
        with self.assertRaises(ZeroDivisionError):
            cache.fetch(0, lambda: 1 // 0)
        self.assertEqual(cache.fetch(0, lambda: b"ok"), b"ok")
        self.assertEqual(cache.counters()[:2], (0, 1))

    def test_a_load_may_fetch_other_items(self):
        cache = Cache(100, items=2)
        self.assertEqual(cache.fetch(0, lambda: cache.fetch(1, lambda: b"1") + b"0"), b"10")
        self.assertEqual((cache.get(0), cache.get(1)), (b"10", b"1"))

    def test_an_item_that_came_meanwhile_is_kept_once(self):
        cache = Cache(100, items=2)
        self.assertEqual(cache.fetch(0, lambda: cache.put(0, b"12345") and b"late"), b"late")
        self.assertEqual(cache.get(0), b"12345")
        self.assertEqual(cache.counters()[2:5], (5, 100, 5))

    def test_missing_paths(self):
        folder = self.folder([1])
        for path, said in (
                (f"{folder}/no", f"the dataset's path '{folder}/no' does not exist"),
                (f"{folder}/no/so/deep", f"the dataset's path '{folder}/no/so/deep' does not "
                                         f"exist: '{folder}/no' is missing"),
                ([f"{folder}/0/00000.bin", f"{folder}/x"],
                 f"the dataset's path '{folder}/x' does not exist"),
                ([folder], f"the dataset's path '{folder}' is not a file")):
            with self.assertRaises(FileNotFoundError) as caught:
                CachedFiles(path, 100)
            self.assertEqual(str(caught.exception), said)
        os.mkdir(f"{folder}/empty")
        with self.assertRaisesRegex(FileNotFoundError, "'.*/empty' has no files"):
            CachedFiles(f"{folder}/empty", 100)
        files = CachedFiles(folder, 100)
        os.unlink(f"{folder}/0/00000.bin")
        with self.assertRaisesRegex(FileNotFoundError, "0.bin' was in the dataset, but no longer"):
            files[0]

    def test_bad_arguments(self):
        for budget, error, said in ((None, TypeError, "budget: None is not a number; give the"),
                                    ("8GB", TypeError, "budget: '8GB' is not a number"),
                                    (-1, ValueError, "budget: -1 is negative")):
            with self.assertRaisesRegex(error, said):
                Cache(budget)
        with self.assertRaisesRegex(ValueError, "name: must be 1 to 100 .*: 'a/b'"):
            Cache(1, name="a/b")


class Memory(CacheCase):
    def test_more_than_is_free_is_cut_down_and_said(self):
        with mock.patch.object(_room, "room", return_value=_room.Room(10**6, "free in /dev/shm")):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                cache = Cache(5 * 10**9, items=10)
                data = CachedDataset([b"x"], 5 * 10**9)
        self.assertEqual([str(warning.message) for warning in said], [
            "cache: a budget of 5.0 GB is more than nine tenths of the 1.0 MB free in /dev/shm; "
            "using 900.0 KB (900000 bytes) instead"] * 2)
        self.assertEqual(cache.counters().budget_bytes, 900_000)
        self.assertEqual(data[0], b"x")

    def test_no_memory_for_the_table_is_said(self):
        """Uses a separate, full /dev/shm, where a write to a mapping would kill the process."""
        code = """
import sys
sys.path.insert(0, sys.argv[1])
from muster import _segment
from muster.cache import Cache
_segment.DIRECTORY = sys.argv[2]
try:
    Cache(1000, "train", 10**6)
except OSError as error:
    print(error)
Cache(1000, "small", 10).put(0, b"x")
"""
        with tempfile.TemporaryDirectory() as folder:
            mounted = ["unshare", "-rm", "sh", "-c",
                       'mount -t tmpfs -o size=1m t "$0" && exec "$@"', folder]
            if not shutil.which("unshare") or subprocess.run(
                    mounted + ["true"], check=False, stderr=subprocess.DEVNULL).returncode:
                self.skipTest("a separate file system cannot be mounted here")
            ended = subprocess.run(
                mounted + [sys.executable, "-Bc", code, str(LIBRARY), folder],
                capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertRegex(ended.stdout, r"^cache: no memory for the table of 1000000 items "
                         r"\(8\.1 MB\): No space left on device\n$")

    def test_memory_that_runs_out_later(self):
        cache = Cache(1000, items=10)
        cache.fetch(0, lambda: bytes(100))
        with mock.patch.object(cache._segment, "write", side_effect=OSError(28, "No space left")):
            with self.assertWarnsRegex(RuntimeWarning, "no memory for more than 100 bytes"):
                self.assertEqual(cache.fetch(1, lambda: bytes(50)), bytes(50))
        for _ in range(2):
            cache.fetch(2, lambda: bytes(50))
        self.assertEqual(cache.counters()[:4], (0, 4, 100, 100))
        self.assertEqual(cache.get(0), bytes(100))

    def test_room_is_the_least_of_all(self):
        with tempfile.TemporaryDirectory() as root:
            def put(path, text):
                path = pathlib.Path(root, path)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)

            def left():
                return _room.room(None, f"{root}/proc", f"{root}/cg")

            put("proc/meminfo", "MemTotal: 900 kB\nMemAvailable:   800 kB\n")
            self.assertEqual(left(), (800 * 1024, "free memory on this machine"))
            put("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/a/b\n0::/a\n")
            put("cg/memory/a/b/memory.limit_in_bytes", str(2**63 - 4096))
            put("cg/memory/a/memory.limit_in_bytes", "700000")
            put("cg/memory/a/memory.usage_in_bytes", "300000")
            put("cg/memory/a/memory.stat", "cache 1\ntotal_cache 150000\ntotal_shmem 50000\n")
            self.assertEqual(left(), (500_000, "left of the memory limit of 700.0 KB"))
            put("cg/unified/a/memory.max", "600000\n")
            put("cg/unified/a/memory.current", "400000\n")
            put("cg/unified/a/memory.stat", "anon 300000\nfile 100000\nshmem 60000\n")
            self.assertEqual(left().left, 240_000)
            put("cg/unified/a/memory.max", "max\n")
            self.assertEqual(left().left, 500_000)


def bytes_read_by_this_process():
    with open("/proc/self/io", encoding="ascii") as file:
        return int(file.readline().split()[1])


if __name__ == "__main__":
    unittest.main()
