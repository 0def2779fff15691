#!/usr/bin/env python3
"""Trains small networks on generated data and records their losses.

    train_curves.py [--models NAME,...] [--runs NUMBER,...] [--longer FACTOR] [--out FILE]

Each model of profiles/zoo.yaml has one small network of the same kind (networks.py): 2,000 to
20,000 parameters, on a dataset of 500 to 800 examples that datasets.py generates from a seed.
The data is synthetic: pictures of random patterns, characters from a random Markov source and
their "translations", waveforms, and spectra of phonemes. These are not the full models and not
their datasets. Only the kind of curve is realistic: a fast fall, steps where the learning rate
drops, noise, and a plateau above zero.

Each model is trained four times, with different first weights and schedules of the learning rate
(RUNS). The runs use one CPU thread and fixed seeds, so a machine always writes the same file.
Other processors and versions of PyTorch round differently. All runs take 5 to 6 minutes.

longer_curves.csv has run 3 with 2.5 times the epochs:
    train_curves.py --runs 3 --longer 2.5 --out longer_curves.csv

The output has the columns model, run, epoch, train_loss and validation_loss. Epoch 0 is the
network before training. The training loss of a later epoch is the mean over its batches, with
dropout and augmentation, as usual in logs.
"""

import argparse
import csv
import math
import pathlib
import time
from typing import Callable, NamedTuple

import torch
from torch.nn import functional

import datasets
import networks

HERE = pathlib.Path(__file__).resolve().parent
DATA_SEED = 20180401


class Setup(NamedTuple):
    data: Callable  # seed -> Dataset
    network: Callable
    loss: Callable  # (network, inputs, targets) -> mean loss
    optimizer: str
    rate: float  # Initial learning rate.
    epochs: int
    batch: int = 32


class Run(NamedTuple):
    seed: int
    schedule: str
    rate_factor: float


# Step: a tenth after one and two thirds of the epochs, as for ImageNet. Plateau: a fifth if the
# validation loss has not fallen for three epochs.
RUNS = (Run(1, "step", 1), Run(2, "cosine", 1), Run(3, "plateau", 1), Run(4, "step", 0.3))


def class_loss(network, inputs, targets):
    scores = network(inputs)
    return functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), targets.reshape(-1))


def translation_loss(network, inputs, targets):
    scores = network(inputs, targets)
    return functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), targets.reshape(-1))


def ctc_loss(network, inputs, targets):
    """CTC loss per phoneme."""
    scores = functional.log_softmax(network(inputs), dim=2).transpose(0, 1)
    frames = torch.full((len(inputs),), scores.shape[0])
    phonemes = torch.full((len(targets),), targets.shape[1])
    return functional.ctc_loss(scores, targets, frames, phonemes)


def image_setup(network, rate):
    return Setup(datasets.images, network, class_loss, "sgd", rate, epochs=60)


SETUPS = {
    "alexnet": image_setup(networks.alexnet, 0.01),
    "res18": image_setup(networks.res18, 0.03),
    "res50": image_setup(networks.res50, 0.03),
    "mobilenet": image_setup(networks.mobilenet, 0.03),
    "shufflenet": image_setup(networks.shufflenet, 0.03),
    "gnmt": Setup(datasets.translation, networks.Gnmt, translation_loss, "adam", 0.003, epochs=50),
    "transformer": Setup(datasets.language, networks.Transformer, class_loss, "adam", 0.002,
                         epochs=50, batch=64),
    "lstm": Setup(datasets.language, networks.Lstm, class_loss, "adam", 0.003, epochs=50),
    "m5": Setup(datasets.waves, networks.m5, class_loss, "sgd", 0.01, epochs=60),
    "deepspeech": Setup(datasets.utterances, networks.DeepSpeech, ctc_loss, "adam", 0.002,
                        epochs=50),
}


def make_optimizer(setup, run, network):
    rate = setup.rate * run.rate_factor
    if setup.optimizer == "sgd":
        return torch.optim.SGD(network.parameters(), rate, momentum=0.9, weight_decay=5e-4)
    return torch.optim.AdamW(network.parameters(), rate, weight_decay=0.01)


def make_schedule(name, optimizer, epochs):
    """Returns a function that is called after each epoch with the validation loss."""
    schedules = torch.optim.lr_scheduler
    if name == "plateau":
        return schedules.ReduceLROnPlateau(optimizer, factor=0.2, patience=3).step
    if name == "step":
        milestones = [math.ceil(epochs / 3), math.ceil(2 * epochs / 3)]
        schedule = schedules.MultiStepLR(optimizer, milestones, gamma=0.1)
    else:
        schedule = schedules.CosineAnnealingLR(optimizer, epochs)
    return lambda _: schedule.step()


def mean_loss(setup, network, inputs, targets):
    """The loss without training, in large batches of equal weight per example."""
    network.eval()
    total = 0.0
    with torch.no_grad():
        for start in range(0, len(inputs), 256):
            part = slice(start, start + 256)
            total += float(setup.loss(network, inputs[part], targets[part])) * len(inputs[part])
    return total / len(inputs)


def train_epoch(setup, network, optimizer, data, generator):
    """Trains one epoch in random order and returns its mean loss."""
    network.train()
    total = 0.0
    for part in torch.randperm(len(data.train_inputs), generator=generator).split(setup.batch):
        optimizer.zero_grad()
        inputs = data.augment(data.train_inputs[part], generator)
        loss = setup.loss(network, inputs, data.train_targets[part])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()
        total += float(loss) * len(part)
    return total / len(data.train_inputs)


def train(setup, run, epochs=None):
    """Returns (train loss, validation loss) per epoch, from epoch 0 on."""
    epochs = epochs or setup.epochs
    data = setup.data(DATA_SEED)
    torch.manual_seed(run.seed)
    generator = torch.Generator().manual_seed(run.seed)
    network = setup.network()
    optimizer = make_optimizer(setup, run, network)
    end_epoch = make_schedule(run.schedule, optimizer, epochs)

    def validation_loss():
        return mean_loss(setup, network, data.validation_inputs, data.validation_targets)

    losses = [(mean_loss(setup, network, data.train_inputs, data.train_targets), validation_loss())]
    for _ in range(epochs):
        train_loss = train_epoch(setup, network, optimizer, data, generator)
        losses.append((train_loss, validation_loss()))
        end_epoch(losses[-1][1])
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(SETUPS), help="models to train (default: all)")
    parser.add_argument("--runs", default="1,2,3,4", help="numbers of runs (default: %(default)s)")
    parser.add_argument("--longer", type=float, default=1,
                        help="factor of the number of epochs (default: 1)")
    parser.add_argument("--out", default=HERE / "loss_curves.csv",
                        help="output file (default: %(default)s)")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    with open(args.out, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["model", "run", "epoch", "train_loss", "validation_loss"])
        for model in args.models.split(","):
            start = time.perf_counter()
            setup = SETUPS[model]
            for number in map(int, args.runs.split(",")):
                curve = train(setup, RUNS[number - 1], round(args.longer * setup.epochs))
                for epoch, losses in enumerate(curve):
                    rows.writerow([model, number, epoch, *(f"{loss:.6g}" for loss in losses)])
            print(f"{model}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
