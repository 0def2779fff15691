"""Trains a model with a few very large layers, which stay on one parameter server (after RALP).

    from muster import ralp
    ralp.train(model, optimizer, loss, batches, sample=torch.zeros(1, 3, 32, 32), batch=32,
               epochs=90, checkpoint="vgg.pt")

All processes of the job run this line. Rank 0 is the parameter server, the other ranks are workers.
Each worker trains the first layers on its own batches (data parallel). The server trains the last
layers on the outputs that it receives, and returns gradients. It also averages the gradients of the
first layers, runs the optimizer for the whole model and saves checkpoints. `muster layers` chooses
the cut. This module needs PyTorch; the rest of the library does not.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, NamedTuple, Optional, Tuple, Union

import torch
import torch.distributed as dist
from torch import nn

from ._chain import Advice, Chain, NotAChain, advise, advise_chain
from ._exchange import Flat, Header, Peers, join, type_number
from ._parameter_server import Loss, Server, Task
from .checkpoint import Path
from .lease import local_rank, rank, watch, world_size
from .loader import Loader

__all__ = ["Advice", "NotAChain", "Result", "advise", "train"]

Batches = Iterable[Tuple[torch.Tensor, torch.Tensor]]


class Result(NamedTuple):
    finished: bool  # False: the lease ended first, and the next lease continues.
    step: int
    advice: Advice


def train(model: nn.Module, optimizer: torch.optim.Optimizer, loss: Loss,
          batches: Callable[[int, int], Batches], *, sample: torch.Tensor, batch: int, epochs: int,
          checkpoint: Optional[Path] = None, cut: Union[str, int, None] = "advice", seed: int = 0,
          link: Optional[str] = None, compute: Optional[str] = None, scheduler: Any = None,
          on_step: Optional[Callable[[int, float], None]] = None,
          program: str = "muster") -> Result:
    """Trains the model on all processes of the job. On rank 0, the model is trained afterwards.

    model      the same chain on all ranks: an nn.Sequential, VGG or AlexNet. The initial values
               of rank 0 count.
    optimizer  an optimizer of model.parameters(). Only that of rank 0 is used.
    loss       the mean loss of a batch: loss(output, targets)
    batches    batches(worker, workers) returns the batches of worker 0, 1, ...: an iterable of
               (inputs, targets). All workers must have the same number of batches. Batches may
               have different sizes: as in DistributedDataParallel, a gradient is the mean of the
               gradients of the workers.
    sample     an input of one sample, with a batch dimension of 1
    batch, link, compute, program   for `muster layers`: samples per step on each worker, network
               bandwidth and compute speed of the server, and the path of the command
    checkpoint the file to save after each epoch and when the lease ends, and to resume from
    cut        "advice": the cut of `muster layers`; None: no cut, all layers are data parallel;
               a number: the number of layers on the workers
    seed       for the random numbers of dropout layers. They depend on the seed, step, worker and
               layer, not on the cut.
    scheduler  a learning rate scheduler; step() is called after each epoch
    on_step    on_step(step, loss) is called on rank 0 after each step

    Raises NotAChain if the model cannot be cut, with the reason.
    """
    if world_size() < 2:
        raise ValueError(f"WORLD_SIZE is {world_size()}; a parameter server and at least one "
                         "worker are required")
    chain = Chain(model, sample)
    watch()
    joined = join()
    try:
        device = torch.device("cpu")  # Gloo sends between CPUs only.
        if dist.get_backend() == "nccl":
            device = torch.device("cuda", local_rank())
            torch.cuda.set_device(device)
        peers = Peers(device)

        def advised() -> Advice:
            if cut == "advice":
                return advise_chain(chain, type(model).__name__, world_size() - 1, batch, link,
                                    compute, program)
            return _chosen(chain, cut)

        advice = _agreed(peers, advised)
        task = Task(chain, advice.layers, loss, epochs, checkpoint, seed, peers)
        # The large layers do not need memory on the GPUs of workers.
        (model if rank() == 0 else nn.Sequential(*chain.layers[:advice.layers])).to(device)
        if rank() == 0:
            server = Server(task, optimizer, scheduler, on_step)
            return Result(server.run(), server.step, advice)
        loader = _Worker(task).run(batches(rank() - 1, world_size() - 1))
        return Result(loader.epoch >= epochs, loader.step, advice)
    finally:
        if joined:
            dist.destroy_process_group()


def _chosen(chain: Chain, cut: Union[str, int, None]) -> Advice:
    layers = len(chain) if cut is None else cut
    if not isinstance(layers, int) or not chain.may_cut(layers):
        raise ValueError(f"cut: the model cannot be cut after {cut!r} of its {len(chain)} layers")
    return Advice(layers, None, None, None, None, "the caller chose the cut")


def _agreed(peers: Peers, advised: Callable[[], Advice]) -> Advice:
    """Returns the advice that rank 0 computes. The workers receive only the cut."""
    if rank() > 0:
        layers = int(peers.receive_numbers(0)[0])
        if layers == 0:
            raise RuntimeError("rank 0 could not choose a cut; see its error message")
        return Advice(layers, None, None, None, None, "see rank 0")
    layers = 0
    try:
        advice = advised()
        layers = advice.layers
        return advice
    finally:
        for worker in range(1, world_size()):
            peers.send_numbers([layers], worker)


class _Worker:
    def __init__(self, task: Task) -> None:
        self.task, self.peers = task, task.peers
        self.flat = Flat(task.chain.parameters(0, task.kept))
        self.cuts = task.kept < len(task.chain)
        self.wants_stop = False
        self.stops = False  # The server has decided that all ranks stop.

    def run(self, batches: Batches) -> Loader[Any]:
        loader = Loader(batches, self._start(), agree=self._agree)
        for _ in loader.epochs(self.task.epochs):
            for inputs, targets in loader:
                self._step(inputs, targets, loader)
            if not loader.stopped:
                self._end_epoch()
        return loader

    def _start(self) -> Dict[str, int]:
        at = dict(zip(("epoch", "position", "step"), map(int, self.peers.receive_numbers(0))))
        random = self.peers.receive_bytes(0)
        if random is not None:
            torch.set_rng_state(random)
        for values in self.task.state_of_workers():
            self.peers.receive(values, 0)
        return at

    def _agree(self, stop: bool) -> bool:
        """The next header contains this rank's request; the server decides for all ranks."""
        self.wants_stop = stop
        return self.stops

    def _step(self, inputs: torch.Tensor, targets: torch.Tensor, loader: Loader[Any]) -> None:
        task, peers = self.task, self.peers
        if len(inputs) == 0:
            raise ValueError(f"batch {loader.position} of epoch {loader.epoch} is empty")
        self.flat.grads.zero_()
        inputs, targets = inputs.to(peers.device), targets.to(peers.device)
        seed = (task.seed, loader.step, rank() - 1)
        outputs = task.chain.run(inputs, 0, task.kept, seed)
        if self.cuts and outputs.dtype != task.chain.type:
            raise TypeError(f"the layers of the workers returned {outputs.dtype} and the model has "
                            f"{task.chain.type}; mixed precision is not available")
        header = Header(len(inputs), self.wants_stop, loader.total or 0)
        if self.cuts:
            peers.send_header(header._replace(
                type=type_number(targets, outputs), targets=tuple(targets.shape),
                outputs=tuple(outputs.shape)))
            peers.send(outputs, 0)
            peers.send(targets, 0)
            gradient = peers.receive(torch.empty_like(outputs).contiguous(), 0)
            if outputs.requires_grad:  # False if these layers have only frozen parameters.
                outputs.backward(gradient)
        else:
            loss = task.loss(outputs, targets)
            (loss / (world_size() - 1)).backward()
            peers.send_header(header._replace(loss=float(loss)))
        peers.send(self.flat.grads, 0)
        self._end_step()

    def _end_step(self) -> None:
        """Receives the decision of the server. Sends the state if the lease ends."""
        self.stops = bool(self.peers.receive_numbers(0)[0])
        self.peers.receive(self.flat.values, 0)
        if self.stops:
            self._send_state()

    def _end_epoch(self) -> None:
        self.peers.send_header(Header(wants_stop=self.wants_stop))
        self.stops = bool(self.peers.receive_numbers(0)[0])
        self._send_state()

    def _send_state(self) -> None:
        self.peers.send_bytes(torch.get_rng_state(), 0)
        if rank() == 1:
            for buffer in self.task.chain.buffers(0, self.task.kept):
                self.peers.send(buffer, 0)
