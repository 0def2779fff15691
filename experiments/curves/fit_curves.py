#!/usr/bin/env python3
"""Fits the loss curves of profiles/zoo.yaml to the losses that train_curves.py recorded.

    fit_curves.py [FILE]    losses (default: loss_curves.csv of this folder)

Prints two results:

1. Per model: b0, b1 and b2 of 1 / (b0 * epoch + b1) + b2, the least squares over the validation
   losses of all runs of the model. The pooled error is the root mean square of (loss - fit) / loss.
   The single error is its mean if each run has its own fit. "Epochs" is the number of epochs until
   the curve converges by the rule of Optimus.
2. When the losses were within 0.1% of the best loss of their run, as in the study of the cluster
   Philly. The share of a run is the first such epoch, divided by its number of epochs.
"""

import collections
import csv
import math
import pathlib
import sys
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
CLOSE = 1.001  # Within 0.1% of the best loss.
EARLY = 0.4  # Philly: 75% of jobs were that close after this share of their epochs.
# As RUNS of train_curves.py.
SCHEDULES = {1: "step", 2: "cosine", 3: "plateau", 4: "step, 0.3 of the rate"}


class Curve(NamedTuple):
    b0: float
    b1: float
    b2: float

    def at(self, epoch):
        return 1 / (self.b0 * epoch + self.b1) + self.b2

    def rounded(self):
        """The values as in zoo.yaml: three significant digits."""
        return Curve(*(float(f"{value:.3g}") for value in self))


class Losses(NamedTuple):
    train: list  # By epoch, from epoch 0 on.
    validation: list


def read_losses(path):
    """Returns {model: {run: Losses}}."""
    models = collections.defaultdict(dict)
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            model, run, epoch = row["model"], int(row["run"]), int(row["epoch"])
            losses = models[model].setdefault(run, Losses([], []))
            if epoch != len(losses.train):
                raise ValueError(f"{path}: {model}, run {run}: epoch {epoch} is out of order")
            losses.train.append(float(row["train_loss"]))
            losses.validation.append(float(row["validation_loss"]))
    return dict(models)


def line_for(shift, points):
    """Returns (squared error, slope, base) of the best loss = slope / (epoch + shift) + base."""
    inverse = [1 / (epoch + shift) for epoch, _ in points]
    mean_x = sum(inverse) / len(points)
    mean_y = sum(loss for _, loss in points) / len(points)
    variance = sum((x - mean_x) ** 2 for x in inverse)
    covariance = sum((x - mean_x) * (loss - mean_y) for x, (_, loss) in zip(inverse, points))
    slope = covariance / variance
    base = mean_y - slope * mean_x
    if base < 0:
        base = 0.0
        slope = sum(x * loss for x, (_, loss) in zip(inverse, points)) / sum(x * x for x in inverse)
    square = sum((loss - slope * x - base) ** 2 for x, (_, loss) in zip(inverse, points))
    return square, slope, base


def fit(points):
    """Returns the Curve with the least squared error for (epoch, loss) points. For a given shift
    = b1 / b0 the curve is a straight line, so the search has one dimension: a grid, then a
    golden-section search near its best point."""
    def error(log_shift):
        return line_for(math.exp(log_shift), points)[0]

    step = 0.1
    grid = [math.log(0.01) + step * i for i in range(120)]  # Shifts from 0.01 to 1,500 epochs.
    middle = min(grid, key=error)
    low, high = middle - step, middle + step
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if error(left) <= error(right):
            high = right
        else:
            low = left
    shift = math.exp((low + high) / 2)
    _, slope, base = line_for(shift, points)
    if slope <= 0:
        raise ValueError("the losses do not fall")
    return Curve(1 / slope, shift / slope, base)


def points_of(runs):
    return [point for losses in runs for point in enumerate(losses.validation)]


def relative_error(curve, points):
    squares = sum(((loss - curve.at(epoch)) / loss) ** 2 for epoch, loss in points)
    return math.sqrt(squares / len(points))


def epochs_to_converge(curve):
    """Optimus' rule, as in src/engine/fit/loss_curve.h: the loss falls by less than 5% of the
    first loss in ten epochs."""
    epoch = 10
    while epoch < 100 and curve.at(epoch - 10) - curve.at(epoch) >= 0.05 * curve.at(0):
        epoch += 1
    return epoch


def close_share(losses):
    """The share of the epochs until the loss is within 0.1% of the best loss."""
    limit = CLOSE * min(losses)
    return next(epoch for epoch, loss in enumerate(losses) if loss <= limit) / (len(losses) - 1)


def best_share(losses):
    """The share of the epochs until the lowest loss."""
    return losses.index(min(losses)) / (len(losses) - 1)


def print_fits(models):
    print("model        b0       b1       b2       pooled error  single error  epochs (Optimus)")
    for model, runs in models.items():
        points = points_of(runs.values())
        curve = fit(points).rounded()
        single = [relative_error(fit(points_of([run])), points_of([run])) for run in runs.values()]
        print(f"{model:12} {curve.b0:<8.3g} {curve.b1:<8.3g} {curve.b2:<8.3g} "
              f"{relative_error(curve, points):12.1%} {sum(single) / len(single):13.1%} "
              f"{epochs_to_converge(curve):17}")


def print_last_epochs(title, curves):
    """Prints the row of these curves."""
    close = sorted(close_share(losses) for losses in curves)
    best = [best_share(losses) for losses in curves]
    count = len(curves)
    early = sum(share <= EARLY for share in close) / count
    late_best = sum(share >= 0.9 for share in best) / count
    last = sum(share == 1 for share in best) / count
    median = (close[(count - 1) // 2] + close[count // 2]) / 2
    print(f"{title:38} {count:4} {early:12.1%} {median:12.1%} {1 - sum(close) / count:13.1%} "
          f"{late_best:15.1%} {last:13.1%}")


def print_all_last_epochs(models):
    for row in (
            ("", "", "within 0.1%", "median share", "mean share", "lowest loss in", "lowest loss"),
            ("losses", "runs", "by 40% of", "of epochs", "of epochs", "the last 10%", "in the last"),
            ("", "", "the epochs", "until then", "after that", "of epochs", "epoch")):
        print("{:38} {:>4} {:>12} {:>12} {:>13} {:>15} {:>13}".format(*row))
    runs = [(number, run) for all_runs in models.values() for number, run in all_runs.items()]
    print_last_epochs("validation loss", [run.validation for _, run in runs])
    print_last_epochs("training loss", [run.train for _, run in runs])
    for number, schedule in SCHEDULES.items():
        if same := [run.validation for key, run in runs if key == number]:
            print_last_epochs(f"validation loss: {schedule}", same)
    fits = []
    for _, run in runs:
        curve = fit(points_of([run]))
        fits.append([curve.at(epoch) for epoch in range(len(run.validation))])
    print_last_epochs("the fit to each validation loss", fits)
    print("{:38} {:>4} {:>12} {:>12} {:>13} {:>15} {:>13}".format(
        "Philly (Jeon et al., ATC 2019)", "", "about 75%", "", "about 62%", "", "about 80%"))


def main():
    models = read_losses(sys.argv[1] if len(sys.argv) > 1 else HERE / "loss_curves.csv")
    print_fits(models)
    print()
    print_all_last_epochs(models)


if __name__ == "__main__":
    main()
