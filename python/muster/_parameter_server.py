"""The parameter server of muster.ralp: rank 0 of the job."""

from __future__ import annotations

import inspect
import time
import warnings
from typing import IO, Any, Callable, List, NamedTuple, Optional

import torch
from torch import nn

from ._chain import Chain
from ._exchange import Flat, Header, Peers, empty_targets
from .checkpoint import Path, checkpoint, resume
from .lease import should_stop, world_size
from .progress import report

_REPORT_EVERY = 1.0  # Seconds.
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Task(NamedTuple):
    chain: Chain
    kept: int  # Layers on the workers.
    loss: Loss
    epochs: int
    checkpoint: Optional[Path]
    seed: int
    peers: Peers

    def state_of_workers(self) -> List[torch.Tensor]:
        """Returns all values of the layers on the workers: parameters, also frozen, and buffers."""
        part = nn.Sequential(*self.chain.layers[:self.kept])
        return [*(p.data for p in part.parameters()), *part.buffers()]


class Server:
    def __init__(self, task: Task, optimizer: torch.optim.Optimizer, scheduler: Any,
                 on_step: Optional[Callable[[int, float], None]]) -> None:
        self.task, self.peers = task, task.peers
        self.optimizer, self.scheduler, self.on_step = optimizer, scheduler, on_step
        self.workers = range(1, world_size())
        self.epoch = self.position = self.step = 0
        self.random: List[Optional[torch.Tensor]] = [None] * world_size()
        self._resume()
        chain, end = task.chain, len(task.chain)
        self.flat = Flat(chain.parameters(0, task.kept))  # Trained by the workers.
        self.own = Flat(chain.parameters(task.kept, end))
        self.received = [torch.empty_like(self.flat.grads) for _ in self.workers[1:]]
        self.own_buffers = chain.buffers(task.kept, end)
        self.reported = 0.0

    def run(self) -> bool:
        """Returns whether all epochs are finished."""
        for worker in self.workers:
            self.peers.send_numbers([self.epoch, self.position, self.step], worker)
            self.peers.send_bytes(self.random[worker], worker)
            for values in self.task.state_of_workers():
                self.peers.send(values, worker)
        stopped = False
        while self.epoch < self.task.epochs and not stopped:
            headers = [self.peers.receive_header(worker) for worker in self.workers]
            stopped = self._step(headers) if self._have_batches(headers) \
                else self._end_epoch(headers)
        return self.epoch >= self.task.epochs

    def _have_batches(self, headers: List[Header]) -> bool:
        """Returns False at the end of an epoch. All workers must be there at the same time."""
        ended = [worker for worker, header in zip(self.workers, headers) if header.samples == 0]
        if ended and len(ended) < len(headers):
            raise RuntimeError(f"worker {ended[0] - 1} has only {self.position} batches in epoch "
                               f"{self.epoch}, and another worker has more; all workers must have "
                               "the same number of batches")
        return not ended

    # ---- a step

    def _step(self, headers: List[Header]) -> bool:
        self.step += 1
        self.position += 1
        if self.task.kept < len(self.task.chain):
            losses = self._train_own_layers(headers)
        else:
            losses = [header.loss for header in headers]
        self._add_gradients()
        self.optimizer.step()
        stop = any(header.wants_stop for header in headers) or should_stop()
        self._reply(stop)
        sent = [self.peers.start_send(self.flat.values, worker) for worker in self.workers]
        for each in sent:
            self.peers.finish(each)
        if stop:
            self._save()
        self._tell(sum(losses) / len(losses), headers[0].total, stop)
        return stop

    def _train_own_layers(self, headers: List[Header]) -> List[float]:
        """Trains the layers after the cut on the batch of one worker after the other, so that batch
        normalization sees the same batches as without a cut. Moving averages are those of the first
        worker, as in DistributedDataParallel. Returns the loss of each worker."""
        chain, kept, device = self.task.chain, self.task.kept, self.peers.device
        self.own.grads.zero_()
        received = []
        for worker, header in zip(self.workers, headers):
            outputs = torch.empty(tuple(header.outputs), dtype=chain.type,
                                  device=device)
            targets = empty_targets(header, device)
            received.append((self.peers.start_receive(outputs, worker), outputs,
                             self.peers.start_receive(targets, worker), targets))
        losses, sent, averages = [], [], []
        for index, (begun, outputs, also_begun, targets) in enumerate(received):
            self.peers.finish(begun)
            self.peers.finish(also_begun)
            outputs.requires_grad_()
            # The first layer may change its input in place, which autograd forbids for a leaf.
            result = chain.run(outputs.clone(), kept, len(chain),
                               (self.task.seed, self.step, index))
            loss = self.task.loss(result, targets)
            (loss / len(received)).backward()
            sent.append(self.peers.start_send(outputs.grad, self.workers[index]))
            losses.append(float(loss))
            if index == 0:
                averages = [buffer.clone() for buffer in self.own_buffers]
        for buffer, first in zip(self.own_buffers, averages):
            buffer.copy_(first)
        for each in sent:
            self.peers.finish(each)
        return losses

    def _add_gradients(self) -> None:
        """Adds the gradients of all workers, always in the same order. Each is already divided by
        the number of workers."""
        targets = [self.flat.grads, *self.received]
        started = [self.peers.start_receive(tensor, worker)
                   for worker, tensor in zip(self.workers, targets)]
        for index, each in enumerate(started):
            self.peers.finish(each)
            if index > 0:
                self.flat.grads.add_(targets[index])

    def _end_epoch(self, headers: List[Header]) -> bool:
        self.epoch += 1
        self.position = 0
        if self.scheduler is not None:
            with warnings.catch_warnings():  # The optimizer's steps may be those of another lease.
                warnings.filterwarnings("ignore", "Detected call of `lr_scheduler.step")
                self.scheduler.step()
        stop = any(header.wants_stop for header in headers) or should_stop()
        self._reply(stop)
        self._save()
        return stop

    def _reply(self, stop: bool) -> None:
        for worker in self.workers:
            self.peers.send_numbers([stop], worker)

    def _tell(self, loss: float, total: int, stop: bool) -> None:
        now = time.monotonic()
        if stop or now - self.reported >= _REPORT_EVERY or self.step == total:
            self.reported = now
            report(step=self.step, epoch=self.epoch, loss=loss, total=total or None)
        if self.on_step is not None:
            self.on_step(self.step, loss)

    # ---- checkpoints

    def _save(self) -> None:
        """Gets the state of the workers, so that the model of this rank is complete, and saves it
        if the caller wants a checkpoint."""
        random = [torch.get_rng_state()]
        random += [self.peers.receive_bytes(worker) for worker in self.workers]
        for buffer in self.task.chain.buffers(0, self.task.kept):
            self.peers.receive(buffer, self.workers[0])
        if self.task.checkpoint is None:
            return
        state = {"model": self.task.chain.model.state_dict(),
                 "optimizer": _exact(self.optimizer.state_dict()),
                 "scheduler": _exact(self.scheduler and self.scheduler.state_dict()),
                 "at": {"epoch": self.epoch, "position": self.position, "step": self.step},
                 "random": random}
        with checkpoint(self.task.checkpoint) as file:
            torch.save(state, file)

    def _resume(self) -> None:
        saved = resume(self.task.checkpoint, _load) if self.task.checkpoint is not None else None
        if saved is None:
            return
        if len(saved["random"]) != world_size():
            raise ValueError(f"{self.task.checkpoint}: it is from {len(saved['random'])} processes "
                             f"and this job has {world_size()}; use the same number")
        self.task.chain.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(_numbers(saved["optimizer"]))
        if self.scheduler is not None and saved["scheduler"] is not None:
            self.scheduler.load_state_dict(_numbers(saved["scheduler"]))
        at = saved["at"]
        self.epoch, self.position, self.step = at["epoch"], at["position"], at["step"]
        self.random = saved["random"]
        torch.set_rng_state(saved["random"][0])


def _load(file: IO[bytes]) -> Any:
    """Loads only tensors and plain values: a checkpoint cannot run code."""
    if "weights_only" not in inspect.signature(torch.load).parameters:
        raise RuntimeError("torch.load of this version of PyTorch runs code from the file; use "
                           "PyTorch 1.13 or later to resume")
    return torch.load(file, map_location="cpu", weights_only=True)


def _exact(value: Any) -> Any:
    """Replaces numbers that are not whole by text: torch.load(weights_only=True) of PyTorch 1.13
    rejects them."""
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_exact(item) for item in value]
    return value


def _numbers(value: Any) -> Any:
    """Reverses _exact()."""
    if isinstance(value, dict):
        if list(value) == ["float"]:
            return float.fromhex(value["float"])
        return {key: _numbers(item) for key, item in value.items()}
    return [_numbers(item) for item in value] if isinstance(value, list) else value
