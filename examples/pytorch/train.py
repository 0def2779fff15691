#!/usr/bin/env python3
"""A small PyTorch training job that Muster can stop and resume at any step.

    muster submit examples/pytorch/job.yaml
    PYTHONPATH=python python3 examples/pytorch/train.py --epochs 3     without Muster

The lines that Muster needs are marked with ##. The loss of every step is written to --losses as an
exact number. A run that was stopped and resumed has the same losses as an uninterrupted run.
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import muster  ##


class Rings(Dataset):
    """Points of a plane. The label is whether a point is in a ring around the center."""

    def __init__(self, size, load_ms):
        self.points = torch.randn(size, 2, generator=torch.Generator().manual_seed(1))
        self.load_ms = load_ms

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        time.sleep(self.load_ms / 1000)
        point = self.points[index]
        noise = torch.randn(2) / 100  # Drawn in a worker, so the worker's random state matters too.
        return point + noise, (point.norm().long() == 1).long()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", default="rings.pt")
    parser.add_argument("--losses", default="rings.losses")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--size", type=int, default=2048, help="number of samples (default: 2048)")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--load-ms", type=float, default=0,
                        help="time to load a sample, in ms (default: 0)")
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


def main():
    options = arguments()
    torch.manual_seed(options.seed)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)  # The last digits of a sum depend on the order.
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64),
                          nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    order = torch.Generator()
    data = DataLoader(Rings(options.size, options.load_ms), options.batch, shuffle=True,
                      generator=order, num_workers=options.workers)

    saved = muster.resume(options.checkpoint, torch.load)  ##
    if saved:
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        torch.set_rng_state(saved["random"])
    loader = muster.Loader(data, saved and saved["at"])  ##
    losses = open(options.losses, "a", encoding="ascii", buffering=1)

    for epoch in loader.epochs(options.epochs):
        order.manual_seed(options.seed + epoch)  # The order depends only on the epoch.
        for points, inside in loader:
            loss = nn.functional.cross_entropy(model(points), inside)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loader.report(loss=loss)
            print(loader.step, loss.item().hex(), file=losses)
        with muster.checkpoint(options.checkpoint) as file:  ##
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                        "random": torch.get_rng_state(), "at": loader.state()}, file)
        print("stopped in" if loader.stopped else "done:", f"epoch {epoch}, step {loader.step}")


if __name__ == "__main__":
    main()
