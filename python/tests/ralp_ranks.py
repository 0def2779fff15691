#!/usr/bin/env python3
"""Trains a small VGG on several processes, for ralp_test.py and the tests of networks.

    ralp_ranks.py JSON...         starts all ranks of one task after the other; prints what rank 0
                                  measured, as one line of JSON per task
    ralp_ranks.py --rank N JSON   is one rank, with MASTER_ADDR and MASTER_PORT in the environment

The keys of a task are those of DEFAULTS.
"""

import ctypes
import json
import os
import pathlib
import signal
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import torch  # noqa: E402
from torch import nn  # noqa: E402

PR_SET_PDEATHSIG = 1
DEFAULTS = {
    "how": "ralp",  # Or "ddp": DistributedDataParallel on the workers, without a server.
    "model": "plain", "cut": "advice", "program": "muster", "workers": 3, "wide": 512,
    "channels": [8, 16, 16],
    "epochs": 2, "steps": 4, "batch": 4, "sizes": {},  # Other sizes of batches: "worker,batch".
    "fewer": {},  # Missing batches: {"worker": number}.
    "adam": False, "checkpoint": None, "link": None, "compute": None,
    "stop": None,  # [worker, batch]: this worker gets SIGTERM before this batch, counted from 0.
    "counters": None,  # A network interface whose counters rank 0 reads after each step.
}


class VGG(nn.Module):
    """Has the structure of torchvision's VGG."""

    def __init__(self, wide, channels=(8, 16, 16), batch_norm=False, dropout=0.0):
        super().__init__()
        layers, inputs = [], 3
        for outputs in channels:
            layers.append(nn.Conv2d(inputs, outputs, 3, padding=1))
            layers += [nn.BatchNorm2d(outputs)] if batch_norm else []
            layers += [nn.ReLU(inplace=True), nn.MaxPool2d(2)]
            inputs = outputs
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(4)
        self.classifier = nn.Sequential(
            nn.Linear(16 * inputs, wide), nn.ReLU(True), nn.Dropout(dropout),
            nn.Linear(wide, wide // 8), *([nn.BatchNorm1d(wide // 8)] if batch_norm else []),
            nn.ReLU(True), nn.Dropout(dropout), nn.Linear(wide // 8, 10))

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


def make(task):
    torch.manual_seed(5)
    kind = task["model"]
    return VGG(task["wide"], task["channels"], kind == "batch_norm",
               0.5 if kind == "dropout" else 0.0)


def optimizer_of(model, task):
    if task["adam"]:
        return torch.optim.Adam(model.parameters(), lr=1e-3)
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)


class Batches:
    """The batches of one worker in one epoch; with noise that depends on the random state."""

    def __init__(self, task, worker):
        self.task, self.worker, self.epoch, self.handed = task, worker, 0, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return self.task["steps"]

    def __iter__(self):
        fewer = self.task["fewer"].get(str(self.worker), 0)
        for number in range(self.task["steps"] - fewer):
            if self.task["stop"] == [self.worker, self.epoch * self.task["steps"] + number]:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0.01)
            size = self.task["sizes"].get(f"{self.worker},{number}", self.task["batch"])
            same = torch.Generator().manual_seed(1000 * self.epoch + 10 * number + self.worker)
            images = torch.randn(size, 3, 32, 32, generator=same)
            yield images, images[:, :, 0, 0].sum(1).gt(0).long()


def bytes_of(interface):
    """Returns the bytes and packets that this network interface received and sent so far."""
    for line in pathlib.Path("/proc/self/net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == interface:
            numbers = list(map(int, counts.split()))
            return [numbers[0], numbers[8], numbers[1], numbers[9]]
    raise ValueError(interface)


def train_ralp(task):
    from muster import ralp
    model = make(task)
    rows = []

    def on_step(step, loss):
        counters = bytes_of(task["counters"]) if task["counters"] else None
        rows.append({"step": step, "loss": loss, "s": time.monotonic(), "counters": counters})

    optimizer = optimizer_of(model, task)
    result = ralp.train(
        model, optimizer, nn.CrossEntropyLoss(), lambda worker, workers: Batches(task, worker),
        sample=torch.zeros(1, 3, 32, 32), batch=task["batch"], epochs=task["epochs"],
        checkpoint=task["checkpoint"], cut=task["cut"], seed=3, link=task["link"],
        compute=task["compute"], program=task["program"], on_step=on_step,
        scheduler=torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9))
    state = {name: values.double().sum().item() for name, values in model.state_dict().items()}
    return {"rows": rows, "finished": result.finished, "step": result.step, "state": state,
            "advice": result.advice._asdict()}


def train_ddp(task):
    """The same training as a plain PyTorch script."""
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    dist.init_process_group("gloo")
    model = make(task)
    parallel = DistributedDataParallel(model)
    optimizer, rows = optimizer_of(model, task), []
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
    batches = Batches(task, dist.get_rank())
    for epoch in range(task["epochs"]):
        batches.set_epoch(epoch)
        for images, labels in batches:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(parallel(images), labels)
            loss.backward()
            optimizer.step()
            if not task["counters"]:  # Otherwise it only measures time.
                dist.all_reduce(loss)
            rows.append({"loss": loss.item() / dist.get_world_size(), "s": time.monotonic()})
        scheduler.step()
    state = {name: values.double().sum().item() for name, values in model.state_dict().items()}
    return {"rows": rows, "state": state}


def run(task):
    torch.set_num_threads(1)
    return (train_ralp if task["how"] == "ralp" else train_ddp)(task)


def start_all(task):
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    size = task["workers"] + (task["how"] == "ralp")
    os.environ.update(WORLD_SIZE=str(size), LOCAL_WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port))
    children = []
    for rank in range(size):
        child = os.fork()  # Before any computation, so PyTorch has no threads yet.
        if child == 0:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
            status = 1
            try:
                out = run(task)
                if rank == 0:
                    print(json.dumps(out), flush=True)
                status = 0
            except Exception as error:
                print(f"rank {rank}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(status)
        children.append(child)
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


if __name__ == "__main__":
    if sys.argv[1] != "--rank":
        sys.exit(max(start_all({**DEFAULTS, **json.loads(word)}) for word in sys.argv[1:]))
    os.environ["RANK"] = os.environ["LOCAL_RANK"] = sys.argv[2]
    answer = run({**DEFAULTS, **json.loads(sys.argv[3])})
    if sys.argv[2] == "0":
        print(json.dumps(answer))
