"""Tests of the loop over batches: where it stops, where it resumes, what it reports."""

import json
import os
import random
import unittest
from unittest import mock

from helper import LibraryTest, lease, until

import muster
import muster.lease
import muster.progress

# As a DataLoader does: a process of its own makes the batches, and its death fails the loop.
WORKERS = """
import multiprocessing, os, signal, sys, muster

class Worker:
    num_workers = 1
    worker_init_fn = None
    def __iter__(self):
        ours, theirs = multiprocessing.Pipe()
        worker = multiprocessing.get_context("fork").Process(
            target=self.work, args=(theirs, self.worker_init_fn), daemon=True)
        worker.start()
        theirs.close()
        return self.batches(ours)
    def batches(self, ours):
        for _ in range(1000):
            ours.send(1)
            yield ours.recv()
    def work(self, pipe, init):
        print(signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, ()), flush=True)
        if init: init(0)
        while True: pipe.send(pipe.recv())
os.setpgid(0, 0)
"""


# The same with workers that import the script again. SIGTERM arrives during the import.
STARTED_ANEW = """
import multiprocessing, os, signal, sys, muster

class Worker:
    num_workers = 1
    worker_init_fn = None
    multiprocessing_context = multiprocessing.get_context(sys.argv[1])
    def __iter__(self):
        context = self.multiprocessing_context
        context.Lock()  # As the queues of a DataLoader have; it needs the resource tracker.
        self.pipe, theirs = context.Pipe()
        worker = context.Process(target=work, args=(theirs, self.worker_init_fn), daemon=True)
        worker.start()
        os.killpg(0, signal.SIGTERM)
        theirs.close()
        return iter(range(10))

def work(pipe, init):
    init(0)
    blocked = signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    while True: pipe.send((pipe.recv(), blocked, os.getpgid(0) == os.getpid()))

def other(pipe):
    pipe.send(signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, ()))

if __name__ == "__main__":
    os.setpgid(0, 0)
    data = Worker()
    loader = muster.Loader(data)
    print(list(loader), loader.stopped, flush=True)
    os.killpg(0, signal.SIGTERM)
    for _ in range(2):
        data.pipe.send(1)
        print(data.pipe.recv(), flush=True)
    ours, theirs = multiprocessing.Pipe()
    data.multiprocessing_context.Process(target=other, args=(theirs,)).start()
    print(ours.recv())
"""


class LoaderTest(LibraryTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, muster.lease, "_asked", False)

    def lead(self, loader, epochs, stop_at=None):
        """The batches of the epochs, until one where it is asked to stop."""
        seen = []
        for epoch in loader.epochs(epochs):
            for batch in loader:
                seen.append((epoch, batch))
                if loader.step == stop_at:
                    muster.request_stop()
        return seen


class Stops(LoaderTest):
    def test_between_batches_and_goes_on_there(self):
        whole = self.lead(muster.Loader("abcd"), 3)
        self.assertEqual(len(whole), 12)
        for stop_at in range(1, 13):
            muster.lease._asked = False
            first = muster.Loader("abcd")
            seen = self.lead(first, 3, stop_at)
            self.assertEqual(len(seen), stop_at)
            self.assertTrue(first.stopped)
            muster.lease._asked = False
            second = muster.Loader("abcd", json.loads(json.dumps(first.state())))
            self.assertEqual(seen + self.lead(second, 3), whole)
            self.assertEqual(second.state(), {"epoch": 3, "position": 0, "step": 12})

    def test_one_that_was_stopped_hands_out_nothing(self):
        loader = muster.Loader("abcd")
        muster.request_stop()
        self.assertEqual(list(loader), [])
        self.assertEqual(loader.state(), {"epoch": 0, "position": 0, "step": 0})

    def test_while_it_passes_over_what_was_done(self):
        def batches():
            yield "a"
            muster.request_stop()
            yield "b"
            self.fail("it should have stopped")
        loader = muster.Loader(batches(), {"epoch": 1, "position": 3, "step": 9})
        self.assertEqual(list(loader), [])
        self.assertEqual(loader.state(), {"epoch": 1, "position": 3, "step": 9})

    def test_random_numbers_go_on_as_they_would_have(self):
        """Those a batch is made with, and those of the loop: in one process they are the same."""
        def draw(epochs, stop_at=None, saved=None):
            if saved:
                random.setstate(saved[1])
            loader = muster.Loader(Drawn(), saved and saved[0])
            seen = []
            for _ in loader.epochs(epochs):
                for batch in loader:
                    seen.append((batch, random.random()))
                    if loader.step == stop_at:
                        muster.request_stop()
            return seen, (loader.state(), random.getstate())

        class Drawn:
            def __iter__(self):
                return (random.random() for _ in range(4))
        random.seed(1)
        whole, _ = draw(2)
        for stop_at in range(1, 9):
            random.seed(1)
            muster.lease._asked = False
            first, saved = draw(2, stop_at)
            random.seed(2)
            muster.lease._asked = False
            self.assertEqual(first + draw(2, saved=saved)[0], whole)

    def test_a_loop_left_early_ends_its_epoch(self):
        loader, seen = muster.Loader("abcd"), []
        for epoch in loader.epochs(2):
            for batch in loader:
                seen.append((epoch, batch))
                if batch == "b":
                    break
        self.assertEqual(seen, [(0, "a"), (0, "b"), (1, "a"), (1, "b")])

    def test_set_epoch_in_a_loop_of_ones_own_repeats_nothing(self):
        def run(loader, stop_at=None):
            seen = []
            for epoch in range(loader.epoch, 3):
                loader.set_epoch(epoch)
                for batch in loader:
                    seen.append((epoch, batch))
                    if loader.step == stop_at:
                        muster.request_stop()
            return seen
        whole = run(muster.Loader("abcd"))
        self.assertEqual(len(whole), 12)
        for stop_at in range(1, 13):
            muster.lease._asked = False
            first = muster.Loader("abcd")
            seen = run(first, stop_at)  # Its outer loop continues; the position stays.
            muster.lease._asked = False
            self.assertEqual(seen + run(muster.Loader("abcd", first.state())), whole)

    def test_set_epoch_can_begin_the_epoch_again(self):
        loader = muster.Loader("abcd", {"epoch": 1, "position": 3, "step": 7})
        loader.set_epoch(1, skip=0)
        self.assertEqual(loader.position, 0)
        loader.set_epoch(1, skip=2)
        self.assertEqual(list(loader), ["c", "d"])

    def test_inside_the_loop_the_batch_at_hand_counts_as_done(self):
        loader = muster.Loader("abcd")
        states = [loader.state()["position"] for _ in loader]
        self.assertEqual(states, [1, 2, 3, 4])

    def test_by_sigterm_with_workers_that_live_on(self):
        code = WORKERS + """
loader = muster.Loader(Worker())
for batch in loader:
    if loader.step == 3:
        os.killpg(0, signal.SIGTERM)
    if loader.step == 4: break
print(loader.stopped, loader.step)
"""
        process = self.start(code)
        out, err = process.communicate(timeout=60)
        self.assertEqual((out, err), ("True\nTrue 3\n", ""))

    def test_by_sigterm_while_workers_are_started_anew(self):
        (self.folder / "train.py").write_text(STARTED_ANEW)
        for method in ("spawn", "forkserver"):
            with self.subTest(method):
                process = self.start_script("train.py", method)
                out, err = process.communicate(timeout=60)
                self.assertEqual((out, err), ("[] True\n" + "(1, False, True)\n" * 2 +
                                              "False\n", ""))

    def test_a_wrong_state_is_refused(self):
        for state in ({}, {"epoch": 0, "position": -1, "step": 0}, {"epoch": "0"}):
            with self.assertRaisesRegex(ValueError, r"pass the result of Loader.state\(\)"):
                muster.Loader("abc", state)
        with self.assertRaisesRegex(ValueError, "agree_every is 0; it must be 1 or more"):
            muster.Loader("abc", agree_every=0)


class Agrees(LoaderTest):
    """Simulates several ranks that are called one after the other."""

    def test_this_rank_stops_when_another_must(self):
        answers = iter([False, False, True])
        loader = muster.Loader("abcd", agree=lambda mine: next(answers))
        self.assertEqual(list(loader), ["a", "b"])
        self.assertTrue(loader.stopped)

    def test_and_not_by_itself_in_between(self):
        asked = []

        def agree(mine):
            asked.append(mine)
            return mine
        loader = muster.Loader("abcdefgh", agree=agree, agree_every=3)
        seen = self.lead(loader, 1, stop_at=3)
        self.assertEqual((seen[-1][1], asked), ("e", [False, True]))


class Samplers(LoaderTest):
    def test_are_told_the_epoch(self):
        class Sampler:
            told = []

            def set_epoch(self, epoch):
                self.told.append(epoch)

        class Data(list):
            sampler = Sampler()
        self.lead(muster.Loader(Data("ab"), {"epoch": 1, "position": 1, "step": 3}), 3)
        self.assertEqual(Sampler.told, [1, 2])

    def test_skip_without_loading(self):
        loaded = []

        class Data:
            batch_sampler = muster.Skipping([[0], [1], [2]])

            def __iter__(self):
                for batch in self.batch_sampler:
                    loaded.append(batch)
                    yield batch[0]

            def __len__(self):
                return len(self.batch_sampler)
        seen = self.lead(muster.Loader(Data(), {"epoch": 0, "position": 2, "step": 2}), 2)
        self.assertEqual(seen, [(0, 2), (1, 0), (1, 1), (1, 2)])
        self.assertEqual(len(loaded), 4)

    def test_an_iterable_that_can_skip_does(self):
        class Data:
            at = 0

            def skip(self, count):
                self.at = count

            def __iter__(self):
                return iter(range(self.at, 5))
        loader = muster.Loader(Data(), {"epoch": 0, "position": 3, "step": 3})
        self.assertEqual(list(loader), [3, 4])


class Tells(LoaderTest):
    def setUp(self):
        super().setUp()
        os.makedirs(self.folder / "leases" / "j7.e1")
        os.environ.update(lease(home=self.folder))
        muster.progress._since = None

    def told(self):
        text = (self.folder / "leases" / "j7.e1" / "progress.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def test_step_epoch_loss_and_total(self):
        loader = muster.Loader("ab", report_every=0)
        for _ in loader.epochs(2):
            for _ in loader:
                loader.report(loss=1 / loader.step)
        told = [(line["step"], line["loss"], line["total"]) for line in self.told()]
        self.assertEqual(sorted(set(told)), [(step, 1 / step, 4) for step in (1, 2, 3, 4)])

    def test_no_total_without_a_length(self):
        loader = muster.Loader(iter("ab"), report_every=0)
        self.lead(loader, 1)
        self.assertNotIn("total", self.told()[-1])

    def test_not_more_often_than_asked_but_at_the_end(self):
        with mock.patch("muster.loader.time.monotonic", side_effect=range(10**6)):
            list(muster.Loader(range(1000), report_every=300))
        self.assertLess(len(self.told()), 20)
        self.assertEqual(self.told()[-1]["step"], 1000)


class LeaseEnds(LibraryTest):
    def test_when_a_newer_one_takes_the_checkpoint(self):
        """Without a signal: a copy that the manager has lost sight of."""
        old = self.start("""
import itertools, muster, pickle, time
muster.resume("run", pickle.load)
print("began", flush=True)
loader = muster.Loader(itertools.repeat(0))
for _ in loader: time.sleep(0.01)
print("stopped", loader.stopped, flush=True)
""", **lease(epoch=1))
        self.says(old, "began")
        new = self.start("import muster, pickle; muster.resume('run', pickle.load)",
                         **lease(epoch=2))
        self.assertEqual(new.wait(60), 0)
        self.says(old, "stopped True")
        until("it ends", lambda: old.poll() == 0)


if __name__ == "__main__":
    unittest.main()
