"""Messages between a parameter server (rank 0) and its workers (ranks 1 and up), over
torch.distributed."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from typing import Any, List, NamedTuple, Optional, Sequence

import torch
import torch.distributed as dist
from torch import nn

_MOST_DIMENSIONS = 8
_NUMBERS = 7 + 2 * _MOST_DIMENSIONS  # Numbers of a header; all are exact as float64.
_SIOCGIFADDR = 0x8915
# Types of inputs of the loss. A header contains the index.
_TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32,
          torch.int16, torch.int8, torch.uint8, torch.bool)


class Header(NamedTuple):
    """The first message of a worker about a batch, or about the end of its epoch."""

    samples: int = 0  # 0: the epoch has no more batches.
    wants_stop: bool = False
    total: int = 0  # Steps of the whole job; 0 if unknown.
    loss: float = 0.0  # Only without a cut.
    type: int = 0  # Type and shape of the targets; only with a cut.
    targets: Sequence[int] = ()
    outputs: Sequence[int] = ()  # Shape of the last output of the worker; only with a cut.


class Flat:
    """Parameters that share one tensor, and gradients that share another. A message contains all of
    them without a copy."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self.values = torch.cat([p.detach().reshape(-1) for p in parameters]) if parameters \
            else torch.empty(0)
        self.grads = torch.zeros_like(self.values)
        at = 0
        for parameter in parameters:
            end = at + parameter.numel()
            parameter.data = self.values[at:end].view_as(parameter)
            parameter.grad = self.grads[at:end].view_as(parameter)
            at = end


class Peers:
    """The point-to-point messages of one process."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def send(self, tensor: torch.Tensor, to: int) -> None:
        if tensor.numel():
            dist.send(tensor.detach().to(self.device).contiguous(), to)

    def start_send(self, tensor: torch.Tensor, to: int) -> Any:
        """Starts to send. The caller calls finish() on the result before it changes the tensor."""
        sent = tensor.detach().contiguous()
        return (dist.isend(sent, to), sent) if sent.numel() else None

    def start_receive(self, tensor: torch.Tensor, source: int) -> Any:
        return (dist.irecv(tensor, source), tensor) if tensor.numel() else None

    @staticmethod
    def finish(started: Any) -> None:
        if started is not None:
            started[0].wait()

    def receive(self, tensor: torch.Tensor, source: int) -> torch.Tensor:
        if tensor.numel():
            dist.recv(tensor, source)
        return tensor

    def send_numbers(self, numbers: Sequence[float], to: int) -> None:
        padded = [*numbers, *[0] * (_NUMBERS - len(numbers))]
        self.send(torch.tensor(padded, dtype=torch.float64), to)

    def receive_numbers(self, source: int) -> List[float]:
        empty = torch.empty(_NUMBERS, dtype=torch.float64, device=self.device)
        return self.receive(empty, source).tolist()

    def send_bytes(self, data: Optional[torch.Tensor], to: int) -> None:
        """Sends a tensor of bytes of any length, such as a random state."""
        data = torch.empty(0, dtype=torch.uint8) if data is None else data
        self.send_numbers([data.numel()], to)
        self.send(data, to)

    def receive_bytes(self, source: int) -> Optional[torch.Tensor]:
        length = int(self.receive_numbers(source)[0])
        empty = torch.empty(length, dtype=torch.uint8, device=self.device)
        return self.receive(empty, source).cpu() if length else None

    def send_header(self, header: Header) -> None:
        self.send_numbers([header.samples, header.wants_stop, header.total, header.loss,
                           header.type, len(header.targets), len(header.outputs),
                           *header.targets, *header.outputs], 0)

    def receive_header(self, worker: int) -> Header:
        samples, stop, total, loss, *rest = self.receive_numbers(worker)
        kind, targets, outputs, *sides = map(int, rest)
        return Header(int(samples), bool(stop), int(total), loss, kind, tuple(sides[:targets]),
                      tuple(sides[targets:targets + outputs]))


def type_number(targets: torch.Tensor, outputs: torch.Tensor) -> int:
    """Returns Header.type, or raises TypeError if a header cannot describe these tensors."""
    for tensor in (targets, outputs):
        if tensor.dtype not in _TYPES or tensor.dim() > _MOST_DIMENSIONS:
            raise TypeError(f"a tensor of {tensor.dtype} with {tensor.dim()} dimensions cannot be "
                            "sent to the parameter server")
    return _TYPES.index(targets.dtype)


def empty_targets(header: Header, device: torch.device) -> torch.Tensor:
    return torch.empty(tuple(header.targets), dtype=_TYPES[header.type], device=device)


def join() -> bool:
    """Joins the processes of the job, unless the caller has already done it. Returns whether it
    did. Listens only on the interface that leads to MASTER_ADDR, unless GLOO_SOCKET_IFNAME or
    NCCL_SOCKET_IFNAME name another."""
    if dist.is_initialized():
        return False
    interface = _interface_to(os.environ.get("MASTER_ADDR", ""))
    here = os.environ.get("LOCAL_WORLD_SIZE") == os.environ.get("WORLD_SIZE")
    if interface and (here or interface != "lo"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
        os.environ.setdefault("NCCL_SOCKET_IFNAME", interface)
    # NCCL needs a GPU for each process.
    enough = torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    dist.init_process_group("nccl" if enough else "gloo")
    return True


def _interface_to(host: str) -> Optional[str]:
    """Returns the network interface with the address from which this node reaches `host`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((host, 9))  # Sends nothing.
        except OSError:
            return None  # For example, an address of IPv6.
        own = socket.inet_aton(sock.getsockname()[0])
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                answer = fcntl.ioctl(sock.fileno(), _SIOCGIFADDR, request)
            except OSError:
                continue  # It has no address.
            if answer[20:24] == own:
                return name
    return None
