#!/usr/bin/env python3
"""Trains small networks on generated data and records their losses.

    train_curves.py [--models NAME,...] [--out FILE]

Each model of profiles/zoo.yaml has one small network of the same kind (networks.py): 2,000 to
20,000 parameters, on a dataset of 500 to 800 examples that datasets.py generates from a seed.
The data is synthetic: pictures of random patterns, characters from a random Markov source and
their "translations", waveforms, and spectra of phonemes. These are not the full models and not
their datasets. Only the kind of curve is realistic: a fast fall, steps where the learning rate
drops, noise, and a plateau above zero.

Each model is trained five times for 100 epochs, with different first weights and schedules of the
learning rate (RUNS). The runs use one CPU thread and fixed seeds, so a machine always writes the
same file. Other processors and versions of PyTorch round differently. All runs take seven
minutes of CPU time.

No schedule depends on the number of epochs. So the first N epochs of a run are also the losses of
a user who stops after N epochs.

The output has the columns model, run, epoch, train_loss and validation_loss. Epoch 0 is the
network before training. The training loss of a later epoch is the mean over its batches, with
dropout and augmentation, as usual in logs.
"""

import argparse
import copy
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
EPOCHS = 100
# A published schedule for ImageNet has 90 epochs and a tenth of the rate after 30, 60 and 80 of
# them (Goyal et al., 2017). The small networks need fewer epochs: 36, with drops at the same shares.
RECIPE = 36
DROPS = (12, 24, 32)
RUNS = {1: "constant", 2: "plateau", 3: "best", 4: "two drops", 5: "three drops"}  # By seed.


class Setup(NamedTuple):
    data: Callable  # seed -> Dataset
    network: Callable
    loss: Callable  # (network, inputs, targets) -> mean loss
    optimizer: str
    rate: float  # Initial learning rate.
    batch: int = 32


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
    return Setup(datasets.images, network, class_loss, "sgd", rate)


SETUPS = {
    "alexnet": image_setup(networks.alexnet, 0.01),
    "res18": image_setup(networks.res18, 0.03),
    "res50": image_setup(networks.res50, 0.03),
    "mobilenet": image_setup(networks.mobilenet, 0.03),
    "shufflenet": image_setup(networks.shufflenet, 0.03),
    "gnmt": Setup(datasets.translation, networks.Gnmt, translation_loss, "adam", 0.003),
    "transformer": Setup(datasets.language, networks.Transformer, class_loss, "adam", 0.002,
                         batch=64),
    "lstm": Setup(datasets.language, networks.Lstm, class_loss, "adam", 0.003),
    "m5": Setup(datasets.waves, networks.m5, class_loss, "sgd", 0.01),
    "deepspeech": Setup(datasets.utterances, networks.DeepSpeech, ctc_loss, "adam", 0.002),
}


def make_optimizer(setup, network):
    if setup.optimizer == "sgd":
        return torch.optim.SGD(network.parameters(), setup.rate, momentum=0.9, weight_decay=5e-4)
    return torch.optim.AdamW(network.parameters(), setup.rate, weight_decay=0.01)


class KeepBest:
    """The schedule adjustAfterEpoch of CNTK with its defaults: after an epoch without a better
    validation loss, training continues from the best weights with 0.618 of the rate."""

    def __init__(self, network, optimizer):
        self.network, self.optimizer = network, optimizer
        self.best, self.saved = math.inf, None

    def step(self, loss):
        if loss < self.best:
            self.best = loss
            self.saved = copy.deepcopy((self.network.state_dict(), self.optimizer.state_dict()))
            return
        rate = 0.618 * self.optimizer.param_groups[0]["lr"]
        self.network.load_state_dict(self.saved[0])
        self.optimizer.load_state_dict(copy.deepcopy(self.saved[1]))
        self.optimizer.param_groups[0]["lr"] = rate


def make_schedule(name, network, optimizer):
    """Returns a function that is called after each epoch with the validation loss."""
    schedules = torch.optim.lr_scheduler
    if name == "best":
        return KeepBest(network, optimizer).step
    if name == "plateau":  # A fifth if the validation loss has not fallen for three epochs.
        return schedules.ReduceLROnPlateau(optimizer, factor=0.2, patience=3).step
    drops = {"constant": (), "two drops": DROPS[:2], "three drops": DROPS}[name]
    schedule = schedules.MultiStepLR(optimizer, drops, gamma=0.1)
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


def train(setup, run, epochs=EPOCHS):
    """Returns (train loss, validation loss) per epoch, from epoch 0 on."""
    data = setup.data(DATA_SEED)
    torch.manual_seed(run)
    generator = torch.Generator().manual_seed(run)
    network = setup.network()
    optimizer = make_optimizer(setup, network)
    end_epoch = make_schedule(RUNS[run], network, optimizer)

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
    parser.add_argument("--out", default=HERE / "loss_curves.csv",
                        help="output file (default: %(default)s)")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    with open(args.out, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["model", "run", "epoch", "train_loss", "validation_loss"])
        for model in args.models.split(","):
            start = time.process_time()
            for run in RUNS:
                for epoch, losses in enumerate(train(SETUPS[model], run)):
                    rows.writerow([model, run, epoch, *(f"{loss:.6g}" for loss in losses)])
            print(f"{model}: {time.process_time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
