#!/usr/bin/env python3
"""Tests of the recorded loss curves: profiles/zoo.yaml contains their fits. Trains nothing
except one network for two epochs, if PyTorch is installed.

    experiments/curves/curves_test.py [-v] [TEST...]
"""

import importlib.util
import math
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True  # Leave no files in the source tree.
import fit_curves  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = fit_curves.HERE / "loss_curves.csv"
HAS_TORCH = importlib.util.find_spec("torch") is not None


def zoo_curves():
    """Returns {model: Curve} of profiles/zoo.yaml.
"""
    curves = {}
    name = None
    for line in (ROOT / "profiles" / "zoo.yaml").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"  - name: (\w+)$", line):
            name = found.group(1)
        elif found := re.match(r"    loss: \{b0: ([\d.]+), b1: ([\d.]+), b2: ([\d.]+)\}$", line):
            curves[name] = fit_curves.Curve(*map(float, found.groups()))
    return curves


class Fit(unittest.TestCase):
    def test_finds_the_values_of_an_exact_curve(self):
        for curve in (fit_curves.Curve(0.2, 0.7, 1.1), fit_curves.Curve(1.5, 0.3, 0.0),
                      fit_curves.Curve(0.01, 0.5, 2.0)):
            found = fit_curves.fit([(epoch, curve.at(epoch)) for epoch in range(61)])
            for value, true in zip(found, curve):
                self.assertAlmostEqual(value, true, delta=1e-4)

    def test_has_the_least_error_nearby(self):
        points = [(epoch, 1 / (0.3 * epoch + 0.4) + 0.9 + 0.05 * math.sin(7 * epoch))
                  for epoch in range(40)]

        def error(curve):
            return sum((loss - curve.at(epoch)) ** 2 for epoch, loss in points)

        best = fit_curves.fit(points)
        for i in range(3):
            for factor in (0.99, 1.01):
                other = best._replace(**{best._fields[i]: best[i] * factor})
                self.assertGreater(error(other), error(best))

    def test_never_puts_the_limit_below_zero(self):
        self.assertEqual(fit_curves.fit([(epoch, 3 - 0.05 * epoch) for epoch in range(50)]).b2, 0)

    def test_rejects_losses_that_rise(self):
        with self.assertRaises(ValueError):
            fit_curves.fit([(epoch, 1 + epoch) for epoch in range(10)])

    def test_shares_of_epochs(self):
        losses = [2.0, 1.0005, 1.5, 1.0, 1.2]
        self.assertEqual(fit_curves.close_share(losses), 0.25)
        self.assertEqual(fit_curves.best_share(losses), 0.75)


class Recorded(unittest.TestCase):
    def setUp(self):
        self.models = fit_curves.read_losses(RECORDED)

    def test_every_model_of_the_zoo_has_curves(self):
        self.assertEqual(sorted(self.models), sorted(zoo_curves()))
        self.assertGreaterEqual(sum(map(len, self.models.values())), 30)
        for model, runs in self.models.items():
            self.assertEqual(list(runs), list(fit_curves.SCHEDULES), model)

    def test_the_curves_are_complete_and_fall(self):
        for model, runs in self.models.items():
            for number, losses in runs.items():
                with self.subTest(model=model, run=number):
                    self.assertIn(len(losses.train) - 1, range(40, 101))
                    self.assertTrue(all(0 < loss < 10 for loss in losses.train + losses.validation))
                    self.assertLess(min(losses.validation), 0.9 * losses.validation[0])

    def test_the_longer_curves_start_with_the_same_losses(self):
        # The schedule of run 3 depends on the losses only, not on the number of epochs.
        longer = fit_curves.read_losses(fit_curves.HERE / "longer_curves.csv")
        self.assertEqual(list(longer), list(self.models))
        for model, runs in longer.items():
            recorded = self.models[model][3].validation
            self.assertEqual(runs[3].validation[:len(recorded)], recorded, model)

    def test_the_zoo_has_their_fits(self):
        zoo = zoo_curves()
        for model, runs in self.models.items():
            curve = fit_curves.fit(fit_curves.points_of(runs.values()))
            self.assertEqual(zoo[model], curve.rounded(), model)


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
        losses = self.curves.train(setup, self.curves.RUNS[0], epochs=2)
        self.assertEqual(losses, self.curves.train(setup, self.curves.RUNS[0], epochs=2))
        self.assertEqual(len(losses), 3)
        self.assertLess(losses[2][1], losses[0][1])

    def test_the_recorded_runs_are_those_of_the_script(self):
        models = fit_curves.read_losses(RECORDED)
        self.assertEqual(list(models), list(self.curves.SETUPS))
        for model, runs in models.items():
            for losses in runs.values():
                self.assertEqual(len(losses.train), self.curves.SETUPS[model].epochs + 1, model)
        for run, schedule in zip(self.curves.RUNS, fit_curves.SCHEDULES.values(), strict=True):
            self.assertTrue(schedule.startswith(run.schedule))


if __name__ == "__main__":
    unittest.main()
