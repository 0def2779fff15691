#!/usr/bin/env python3
"""Tests of muster.cache with several processes: one shared copy, even if a process is killed.

    python3 python/tests/cache_shared_test.py [TestCase[.test]]
"""

import multiprocessing
import os
import pathlib
import pickle
import random
import signal
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from cache_test import CacheCase, content, shuffled  # noqa: E402

from muster.cache import Cache, CachedDataset  # noqa: E402

COUNT, SIZE = 200, 3000
BUDGET = 80 * SIZE  # Of 200 items.


class Logged:
    """A dataset that notes each item read in a file, by one write, which is whole."""

    def __init__(self, log):
        self.log = log

    def __len__(self):
        return COUNT

    def __getitem__(self, key):
        with open(self.log, "ab", buffering=0) as log:
            log.write(b"%d\n" % key)
        time.sleep(0.0005)  # Storage is slow: others come for the same item meanwhile.
        return content(key, SIZE)


def read_all(data, order, barrier):
    """The body of a worker process."""
    barrier.wait()
    for key in order:
        if data[key] != content(key, SIZE):
            os._exit(3)


class SharedCase(CacheCase):
    def setUp(self):
        super().setUp()
        self.log = f"{self.scratch()}/log"
        self.data = CachedDataset(Logged(self.log), BUDGET)

    def reads(self):
        """Since the last call: how often each item was read."""
        counts = [0] * COUNT
        for line in pathlib.Path(self.log).read_text().split():
            counts[int(line)] += 1
        os.unlink(self.log)
        return counts

    def check_memory(self):
        """There is one copy: the items and the documented overhead, in whole pages."""
        taken = self.data.cache.allocated_bytes()
        self.assertGreaterEqual(taken, BUDGET)
        self.assertLess(taken, BUDGET + 8 * COUNT + 23 * COUNT + 70_000)


class OneCopy(SharedCase):
    def epoch(self, method, orders):
        context = multiprocessing.get_context(method)
        barrier = context.Barrier(len(orders))
        workers = [context.Process(target=read_all, args=(self.data, order, barrier))
                   for order in orders]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
            self.assertEqual(worker.exitcode, 0)

    def check_parts(self, method):
        """As a data loader does: each item goes to one of four workers, new ones each epoch."""
        for epoch in range(3):
            self.data.set_epoch(epoch)
            order = shuffled(COUNT, epoch)
            self.epoch(method, [order[i::4] for i in range(4)])
            counters, reads = self.data.cache.epoch_counters(), self.reads()
            self.assertEqual(counters.read_bytes, SIZE * sum(reads))
            self.assertEqual(sum(reads), COUNT if epoch == 0 else COUNT - 80)
            self.assertEqual(counters.hits, 0 if epoch == 0 else 80)
            self.assertEqual(counters.held_bytes, BUDGET)
        self.check_memory()

    def check_race(self, method):
        """All four processes read all items in the same order: each stored item is read once."""
        order = shuffled(COUNT, 1)
        self.epoch(method, [order] * 4)
        reads = self.reads()
        held = [key in self.data.cache for key in range(COUNT)]
        self.assertEqual(sum(held), 80)
        self.assertEqual([reads[key] for key in range(COUNT) if held[key]], [1] * 80)
        self.assertEqual([reads[key] for key in range(COUNT) if not held[key]], [4] * 120)
        counters = self.data.counters()
        self.assertEqual(counters.held_bytes, BUDGET)
        self.assertEqual((counters.hits, counters.misses), (3 * 80, 80 + 4 * 120))
        self.assertEqual(counters.read_bytes, SIZE * sum(reads))
        self.check_memory()

    def test_forked_workers_share_an_epoch(self):
        self.check_parts("fork")

    def test_spawned_workers_share_an_epoch(self):
        self.check_parts("spawn")

    def test_forked_workers_race(self):
        self.check_race("fork")

    def test_spawned_workers_race(self):
        self.check_race("spawn")

    def test_threads_race(self):
        barrier, order = threading.Barrier(4), shuffled(COUNT, 1)
        threads = [threading.Thread(target=read_all, args=(self.data, order, barrier))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        counters = self.data.counters()
        self.assertEqual((counters.hits, counters.misses), (3 * 80, 80 + 4 * 120))
        self.assertEqual(SIZE * sum(self.reads()), counters.read_bytes)

    def test_threads_lose_no_count(self):
        cache = Cache(100, items=1)
        cache.put(0, b"x")
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-6)
        threads = [threading.Thread(target=lambda: [cache.get(0) for _ in range(20_000)])
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(cache.counters().hits, 80_000)

    def test_counters_of_workers_that_ended_are_kept(self):
        for i in range(40):  # Many more than are there at any time.
            self.epoch("fork", [[i]])
        self.assertEqual(self.data.counters()[:2], (0, 40))

    def test_one_handed_to_a_process_when_its_maker_is_gone(self):
        pickled = pickle.dumps(self.data)
        self.data.close()
        with self.assertRaisesRegex(RuntimeError, "the cache of process .* is gone"):
            pickle.loads(pickled)


def in_child(action):
    """Runs it in a fork; how that ended: minus the signal, or the exit status."""
    pid = os.fork()
    if pid == 0:
        try:
            action()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class Closed(CacheCase):
    def test_a_fork_touches_no_descriptor_of_a_closed_cache(self):
        cache = Cache(100, items=10)
        number = cache._segment.fd
        cache.close()
        cache.close()  # Twice does no harm.
        os.dup2(0, number)  # Another file is there now.
        self.addCleanup(os.close, number)
        same = in_child(lambda: os._exit(os.path.sameopenfile(0, number)))
        self.assertEqual(same, 1)


class Killed(CacheCase):
    def check_after(self, cache, found):
        """The item is there whole, or can be stored as if nothing had been."""
        self.assertEqual(cache.get(1), content(1, 5000) if found else None)
        self.assertEqual(cache.fetch(1, lambda: content(1, 5000)), content(1, 5000))
        self.assertEqual(cache.fetch(2, lambda: content(2, 5000)), content(2, 5000))
        self.assertEqual([cache.get(key) for key in (0, 1, 2)],
                         [content(key, 5000) for key in (0, 1, 2)])
        self.assertEqual(cache.counters().held_bytes, 15_000)
        self.assertEqual(cache.counters().dataset_bytes, 15_000)
        self.assertFalse(cache.put(3, b"x"))

    def make(self):
        cache = Cache(15_000, items=10)
        cache.put(0, content(0, 5000))
        return cache

    def test_in_the_middle_of_an_item(self):
        cache = self.make()

        def half(data, at):
            os.pwrite(cache._segment.fd, data[:len(data) // 2], at)
            if len(data) > 100:
                die()

        def action():
            cache._segment.write = half
            cache.put(1, content(1, 5000))

        self.assertEqual(in_child(action), -signal.SIGKILL)
        self.check_after(cache, found=False)

    def test_between_storing_and_showing(self):
        # At each of the writes to shared words that a store makes.
        ends = set()
        for last in range(20):
            cache = self.make()

            def action(cache=cache, last=last):
                cache._words = DyingWords(cache._words, last)
                cache.put(1, content(1, 5000))

            ends.add(in_child(action))
            with cache._changing():
                pass  # The next process completes the interrupted change.
            self.check_after(cache, found=1 in cache)
        self.assertEqual(ends, {-signal.SIGKILL, 0})

    def test_while_it_loads_an_item(self):
        cache = self.make()
        self.assertEqual(in_child(lambda: cache.fetch(1, die)), -signal.SIGKILL)
        self.check_after(cache, found=False)

    def test_at_any_time(self):
        rng = random.Random(3)
        cache = Cache(2_000_000, items=1000)
        kills = 0
        while kills < 25 or len(held) < 10:  # On a busy machine some never come to store.
            kills += 1
            pid = os.fork()
            if pid == 0:
                while True:
                    key = random.randrange(1000)
                    cache.fetch(key, lambda: content(key, 4000 + key))
            time.sleep(rng.uniform(0, 0.02))
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            held = [key for key in range(1000) if key in cache]
            for key in held:
                self.assertEqual(cache.get(key), content(key, 4000 + key))
        with cache._changing():
            pass
        held = [key for key in range(1000) if key in cache]
        self.assertEqual(cache.counters().held_bytes, sum(4000 + key for key in held))

    def test_a_child_that_lives_on_keeps_no_lock_of_its_parent(self):
        cache = self.make()
        began, beginning = os.pipe()
        end, ending = os.pipe()  # The child lives until the end of the test.
        for fd in (began, end, ending):
            self.addCleanup(os.close, fd)

        def load():
            if os.fork() == 0:
                os.close(ending)
                os.write(beginning, b"x")
                os.read(end, 1)
                os._exit(0)
            die()

        self.assertEqual(in_child(lambda: cache.fetch(1, load)), -signal.SIGKILL)
        os.close(beginning)
        self.assertEqual(os.read(began, 1), b"x")
        self.check_after(cache, found=False)


class DyingWords:
    """Shared words that kill the process instead of a write, after a given number of writes."""

    def __init__(self, words, last):
        self.words = words
        self.left = last

    def __getitem__(self, key):
        return self.words[key]

    def __setitem__(self, key, value):
        if self.left == 0:
            die()
        self.left -= 1
        self.words[key] = value


if __name__ == "__main__":
    unittest.main()
