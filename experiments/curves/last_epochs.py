#!/usr/bin/env python3
"""Compares the losses that train_curves.py recorded with those of the study of the cluster Philly.

    last_epochs.py [--zoo FILE] [LOSSES]

LOSSES is a file of train_curves.py (default: loss_curves.csv of this folder). The program prints
when the losses of each set-up were within 0.1% of the best loss of their run, and when they were
lowest. A share is a number of epochs, divided by the number of epochs of the run.

With --zoo, it also writes the validation losses of run ZOO_RUN as the points of the loss curves in
FILE, which is profiles/zoo.yaml.
"""

import argparse
import collections
import csv
import pathlib
import re
import textwrap
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
CLOSE = 1.001  # Within 0.1% of the best loss.
EARLY = 0.4  # Philly: 75% of jobs were that close after this share of their epochs.
# As RUNS of train_curves.py.
SCHEDULES = {1: "constant", 2: "plateau", 3: "best", 4: "two drops", 5: "three drops"}
ZOO_RUN = 5
LENGTHS = (36, 60, 100)  # The recipe of train_curves.py, and longer runs with the same schedule.


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


def close_share(losses):
    """The share of the epochs until the loss is within 0.1% of the best loss."""
    limit = CLOSE * min(losses)
    return next(epoch for epoch, loss in enumerate(losses) if loss <= limit) / (len(losses) - 1)


def best_share(losses):
    """The share of the epochs until the lowest loss."""
    return losses.index(min(losses)) / (len(losses) - 1)


class LastEpochs(NamedTuple):
    early: float  # Share of the runs within 0.1% of the best loss by 40% of the epochs.
    after: float  # Mean share of the epochs after the first such loss.
    last_tenth: float  # Share of the runs with the lowest loss in the last 10% of the epochs.
    last: float  # In the last epoch.


def last_epochs(curves):
    count = len(curves)
    close = [close_share(losses) for losses in curves]
    best = [best_share(losses) for losses in curves]
    return LastEpochs(sum(share <= EARLY for share in close) / count, 1 - sum(close) / count,
                      sum(share >= 0.9 for share in best) / count,
                      sum(share == 1 for share in best) / count)


def print_all(models):
    print("| Schedule | Epochs | Losses | Within 0.1% by 40% of the epochs | Share of epochs after "
          "that | Lowest in the last 10% | In the last epoch |")
    print("|---|---|---|---|---|---|---|")
    for run, schedule in SCHEDULES.items():
        for length in LENGTHS:
            for kind in ("train", "validation"):
                shares = last_epochs([getattr(runs[run], kind)[:length + 1]
                                      for runs in models.values()])
                cells = " | ".join(f"{share:.0%}" for share in shares)
                print(f"| {schedule} | {length} | {kind} | {cells} |")


def write_zoo(path, models):
    """Replaces the losses of each model in the file, which has one `loss` per model."""
    text = path.read_text(encoding="utf-8")
    for model, runs in models.items():
        points = textwrap.fill(", ".join(f"{loss:g}" for loss in runs[ZOO_RUN].validation),
                               width=100, initial_indent=" " * 14, subsequent_indent=" " * 14)
        text, count = re.subn(
            rf"(  - name: {model}\n(?:    .*\n)*?)    loss: {{[^}}]*}}\n",
            lambda found: f"{found.group(1)}    loss: {{points: [\n{points}]}}\n", text)
        if count != 1:
            raise ValueError(f"{path}: {count} loss curves of {model}")
    path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("losses", nargs="?", default=HERE / "loss_curves.csv",
                        help="losses (default: %(default)s)")
    parser.add_argument("--zoo", type=pathlib.Path, help="file of profiles to update")
    args = parser.parse_args()
    models = read_losses(args.losses)
    print_all(models)
    if args.zoo:
        write_zoo(args.zoo, models)


if __name__ == "__main__":
    main()
