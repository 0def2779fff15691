#!/usr/bin/env python3
"""Trains a small VGG whose large layers stay on one parameter server.

    muster submit examples/ralp/job.yaml

Rank 0 is the parameter server, the other ranks are workers. `muster layers` chooses the layers of
each. The loss of every step is written to --losses as an exact number.
"""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

import muster
from muster import ralp


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", default="vgg.pt")
    parser.add_argument("--losses", default="vgg.losses")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--size", type=int, default=960, help="number of samples (default: 960)")
    parser.add_argument("--batch", type=int, default=8, help="samples per worker (default: 8)")
    parser.add_argument("--link", help="bandwidth of the parameter server (default: 56Gb/s)")
    parser.add_argument("--program", default="muster", help="path of muster (default: muster)")
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


def vgg():
    layers, inputs = [], 3
    for outputs in (8, 16, 16):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs),
                   nn.ReLU(inplace=True), nn.MaxPool2d(2)]
        inputs = outputs
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(256, 512), nn.ReLU(), nn.Dropout(0.2),
                         nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 2))


def dataset(size):
    """Images with a bright square; the label is whether it is in the upper half."""
    same = torch.Generator().manual_seed(1)
    images = torch.randn(size, 3, 32, 32, generator=same)
    places = torch.randint(0, 26, (size, 2), generator=same)
    for image, (row, column) in zip(images, places):
        image[:, row:row + 6, column:column + 6] += 1
    return TensorDataset(images, (places[:, 0] < 13).long())


class Shard:
    """The batches of one worker. The order depends only on the epoch."""

    def __init__(self, data, options, worker, workers):
        self.order, self.seed = torch.Generator(), options.seed
        length = len(data) // workers  # Equal for all workers.
        own = Subset(data, range(worker * length, (worker + 1) * length))
        self.batches = DataLoader(own, options.batch, shuffle=True, generator=self.order)

    def set_epoch(self, epoch):
        self.order.manual_seed(self.seed + epoch)

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        return iter(self.batches)


def main():
    options = arguments()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)  # The last digits of a sum depend on the order.
    model = vgg()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    data = dataset(options.size)
    losses = open(options.losses, "a", encoding="ascii", buffering=1)
    result = ralp.train(
        model, optimizer, nn.CrossEntropyLoss(),
        lambda worker, workers: Shard(data, options, worker, workers),
        sample=torch.zeros(1, 3, 32, 32), batch=options.batch, epochs=options.epochs,
        checkpoint=options.checkpoint, seed=options.seed, link=options.link,
        program=options.program,
        on_step=lambda step, loss: print(step, loss.hex(), file=losses))
    if muster.rank() == 0:
        print("done:" if result.finished else "stopped:", f"step {result.step}")
        print(result.advice.text)


if __name__ == "__main__":
    main()
