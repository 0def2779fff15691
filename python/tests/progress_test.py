"""Tests of the reports in $MUSTER_PROGRESS: values that cannot be reported are omitted."""

import json
import os
import unittest
from unittest import mock

from helper import LibraryTest

import muster
import muster.progress


class Tensor:
    """Behaves like a tensor with one element."""

    def __float__(self):
        return 0.25


class Report(LibraryTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "progress.jsonl"
        os.environ["MUSTER_PROGRESS"] = str(self.path)
        muster.progress._since, muster.progress._torn = None, False

    def told(self):
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def test_one_line_a_report(self):
        muster.report(step=1, epoch=0, loss=0.5, total=10)
        muster.report(saved=True)
        self.assertEqual(self.told(), [{"step": 1, "epoch": 0, "loss": 0.5, "total": 10},
                                       {"saved": True}])

    def test_in_one_write(self):
        with mock.patch("muster.progress.os.write", wraps=os.write) as write:
            muster.report(step=1, loss=0.5)
        write.assert_called_once()
        self.assertEqual(self.path.read_bytes()[-1:], b"\n")

    def test_the_rate_is_measured(self):
        with mock.patch("muster.progress.time.monotonic", side_effect=[10, 10.05, 14, 14.01, 16]):
            for step in (100, 101, 140, 141, 150):
                muster.report(step=step)
        self.assertEqual([line.get("rate") for line in self.told()], [None, None, 10, None, 5])

    def test_a_loop_that_begins_anew_has_no_rate(self):
        with mock.patch("muster.progress.time.monotonic", side_effect=[10, 11, 12]):
            for step in (100, 5, 8):
                muster.report(step=step)
        self.assertEqual([line.get("rate") for line in self.told()], [None, None, 3])

    def test_a_given_rate_is_told(self):
        muster.report(step=1, rate=2.5)
        self.assertEqual(self.told()[0]["rate"], 2.5)

    def test_tensors_are_numbers_and_nan_is_none(self):
        muster.report(step=1, loss=Tensor())
        muster.report(step=2, loss=float("nan"))
        muster.report(step=3, loss="much")
        self.assertEqual(self.told(), [{"step": 1, "loss": 0.25}, {"step": 2}, {"step": 3}])

    def test_counters_of_the_cache_are_an_object(self):
        muster.report(cache={"hits": 3, "misses": 1, "held_bytes": float("nan")})
        self.assertEqual(self.told(), [{"cache": {"hits": 3, "misses": 1}}])

    def test_nothing_to_say_is_no_line(self):
        muster.report(loss=float("inf"))
        self.assertFalse(self.path.exists())

    def test_only_rank_0_tells(self):
        with mock.patch.dict(os.environ, {"RANK": "1"}):
            muster.report(step=1)
        self.assertFalse(self.path.exists())

    def test_outside_muster_nothing_happens(self):
        del os.environ["MUSTER_PROGRESS"]
        muster.report(step=1)
        self.assertEqual(os.listdir(self.folder), [])

    def test_it_never_fails_the_job(self):
        os.environ["MUSTER_PROGRESS"] = str(self.folder / "none" / "progress.jsonl")
        muster.report(step=1)
        os.environ["MUSTER_PROGRESS"] = "/dev/full"
        muster.report(step=1)
        os.environ["RANK"] = "first"
        muster.report(step=1)

    def test_a_full_pipe_does_not_block_and_its_lines_are_counted(self):
        os.mkfifo(self.path)
        muster.report(step=1)  # No reader.
        reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        writer = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.close(writer)
        muster.report(step=2)  # No space.
        while True:
            try:
                if not os.read(reader, 1 << 20):
                    break
            except BlockingIOError:
                break
        before = muster.progress._dropped
        self.assertGreaterEqual(before, 2)
        muster.report(step=3)
        self.assertEqual(json.loads(os.read(reader, 1 << 20)), {"step": 3, "dropped": before})
        muster.progress._dropped = 0

    def test_after_a_line_cut_short_the_next_is_whole(self):
        def half(file, text, real=os.write):
            return real(file, text[:5])
        with mock.patch("muster.progress.os.write", half):
            muster.report(step=1)
        muster.report(step=2)
        self.assertEqual(self.path.read_text(), '{"ste\n{"step":2}\n')


if __name__ == "__main__":
    unittest.main()
