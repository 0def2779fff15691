#!/usr/bin/env python3
"""Tests of the recorded loss curves: profiles/zoo.yaml contains them. Trains nothing except one
network for two epochs, if PyTorch is installed.

    experiments/curves/curves_test.py [-v] [TEST...]
"""

import contextlib
import importlib.util
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import last_epochs  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = last_epochs.HERE / "loss_curves.csv"
HAS_TORCH = importlib.util.find_spec("torch") is not None


class Shares(unittest.TestCase):
    def test_shares_of_epochs(self):
        losses = [2.0, 1.0005, 1.5, 1.0, 1.2]
        self.assertEqual(last_epochs.close_share(losses), 0.25)
        self.assertEqual(last_epochs.best_share(losses), 0.75)

    def test_shares_of_runs(self):
        shares = last_epochs.last_epochs([[2.0, 1.0005, 1.5, 1.0, 1.2], [2.0, 1.9, 1.8, 1.7, 1.6]])
        self.assertEqual(shares.early, 0.5)
        self.assertEqual(shares.after, 0.375)
        self.assertEqual(shares.last_tenth, 0.5)
        self.assertEqual(shares.last, 0.5)

    def test_the_zoo_keeps_everything_except_the_losses(self):
        text = ("profiles:\n  - name: a\n    skew: 0.1\n    loss: {b0: 1, b1: 2}\n    batch: 1\n\n"
                "  - name: b\n    loss: {points: [\n      1, 2]}\n")
        models = {name: {last_epochs.ZOO_RUN: last_epochs.Losses([], [3.5, 1 / 3])}
                  for name in "ab"}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "zoo.yaml"
            path.write_text(text, encoding="utf-8")
            last_epochs.write_zoo(path, models)
            points = "    loss: {points: [\n              3.5, 0.333333]}\n"
            self.assertEqual(path.read_text(encoding="utf-8"),
                             f"profiles:\n  - name: a\n    skew: 0.1\n{points}    batch: 1\n\n"
                             f"  - name: b\n{points}")
            with self.assertRaises(ValueError):
                last_epochs.write_zoo(path, {"c": models["a"]})


class Recorded(unittest.TestCase):
    def setUp(self):
        self.models = last_epochs.read_losses(RECORDED)

    def test_the_curves_are_complete_and_fall(self):
        self.assertEqual(len(self.models), 10)
        for model, runs in self.models.items():
            self.assertEqual(list(runs), list(last_epochs.SCHEDULES), model)
            for number, losses in runs.items():
                with self.subTest(model=model, run=number):
                    self.assertEqual(len(losses.train), 101)
                    self.assertTrue(all(0 < loss < 10 for loss in losses.train + losses.validation))
                    self.assertLess(min(losses.validation), 0.9 * losses.validation[0])

    def test_the_zoo_has_them(self):
        zoo = ROOT / "profiles" / "zoo.yaml"
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "zoo.yaml"
            copy.write_bytes(zoo.read_bytes())
            last_epochs.write_zoo(copy, self.models)
            self.assertEqual(copy.read_bytes(), zoo.read_bytes())

    def test_the_readme_has_the_table(self):
        table = io.StringIO()
        with contextlib.redirect_stdout(table):
            last_epochs.print_all(self.models)
        self.assertIn(table.getvalue(), (last_epochs.HERE / "README.md").read_text("utf-8"))


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class Training(unittest.TestCase):
    def setUp(self):
        import torch
        import train_curves
        self.curves = train_curves
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)

    def test_learns_and_repeats(self):
        setup = self.curves.SETUPS["m5"]
        for run in self.curves.RUNS:
            losses = self.curves.train(setup, run, epochs=2)
            self.assertEqual(losses, self.curves.train(setup, run, epochs=2))
            self.assertEqual(len(losses), 3)
            self.assertLess(losses[2][1], losses[0][1])

    def test_returns_to_the_best_weights(self):
        import torch
        network = torch.nn.Linear(1, 1)
        optimizer = torch.optim.SGD(network.parameters(), 0.5)
        schedule = self.curves.KeepBest(network, optimizer)
        schedule.step(1.0)
        best = network.weight.item()
        torch.nn.init.constant_(network.weight, best + 1)
        schedule.step(1.5)
        self.assertEqual(network.weight.item(), best)
        self.assertAlmostEqual(optimizer.param_groups[0]["lr"], 0.309)
        schedule.step(1.2)
        self.assertAlmostEqual(optimizer.param_groups[0]["lr"], 0.5 * 0.618 ** 2)

    def test_the_recorded_runs_are_those_of_the_script(self):
        self.assertEqual(self.curves.RUNS, last_epochs.SCHEDULES)
        self.assertEqual(self.curves.RECIPE, last_epochs.LENGTHS[0])
        self.assertEqual(self.curves.EPOCHS, last_epochs.LENGTHS[-1])
        self.assertEqual(list(last_epochs.read_losses(RECORDED)), list(self.curves.SETUPS))


if __name__ == "__main__":
    unittest.main()
